import type { Application } from '../../schema/account.ts';
import type { Device } from '../../schema/api.ts';
import { Entries, Entry, Revoke, Section } from './account-parts.tsx';
import { Foreign } from './foreign.tsx';
import { LastUse, Moment } from './moment.tsx';

interface Props<T> {
  list: readonly T[];
  origin: string;
  now: number;
}

export function Applications({ list, origin, now }: Props<Application>) {
  return (
    <Section id="applications" title="Connected applications">
      <Entries
        label="Connected applications"
        empty={
          <>
            No application is connected. Add <code>{origin}/mcp</code> as a connector in claude.ai, ChatGPT or
            any other MCP client.
          </>
        }
      >
        {list.map(({ id, name, host, scopes, read_only, connected_at, last_used_at }) => (
          <Entry
            name={<Foreign>{name}</Foreign>}
            marks={[(read_only || !scopes.includes('skills:write')) && 'reads only']}
            facts={[
              <Foreign whole>{host}</Foreign>,
              <>connected {<Moment at={connected_at} now={now} />}</>,
              <LastUse at={last_used_at} now={now} />,
            ]}
          >
            <Revoke
              path={`/api/v1/applications/${encodeURIComponent(id)}`}
              verb="Disconnect"
              name={name}
              ask="Disconnect NAME? It loses access at once, and has to ask you to be let in again."
              done="NAME has no access any more."
            />
          </Entry>
        ))}
      </Entries>
    </Section>
  );
}

export function Devices({ list, online, origin, now }: Props<Device> & { online: ReadonlySet<string> }) {
  return (
    <Section id="devices" title="Devices">
      <Entries
        label="Devices"
        empty={
          <>
            No computer is paired. Run <code>repertoire pair {origin}</code> on one, then{' '}
            <a href="/pair">enter its code</a>.
          </>
        }
      >
        {list
          .filter(({ revoked_at }) => revoked_at === null)
          .map(({ id, name, platform, paired_at, last_seen_at }) => (
            <Entry
              name={<Foreign>{name}</Foreign>}
              marks={[online.has(id) && 'connected']}
              facts={[
                <Foreign>{platform}</Foreign>,
                <>paired {<Moment at={paired_at} now={now} />}</>,
                <LastUse at={last_seen_at} now={now} />,
              ]}
            >
              <Revoke
                path={`/api/v1/devices/${encodeURIComponent(id)}`}
                verb="Revoke"
                name={name}
                ask="Revoke NAME? It gets no change from now on. The files on it stay."
                done="NAME has no access any more. Its files stay on it."
              />
            </Entry>
          ))}
      </Entries>
    </Section>
  );
}
