import { RegistryError } from '../../schema/errors.ts';

/** Names that lead to no public address, whatever a resolver says. */
const PRIVATE_NAMES = /(^|\.)(localhost|localdomain|local|internal|intranet|lan|home\.arpa|onion)$/;
const LOOPBACK_NAMES: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/**
 * The address of another server, checked as far as its text tells: HTTPS, and neither private nor link-local nor this
 * machine. Names that resolve to such addresses are refused by the network below (`global_fetch_strictly_public`).
 * `loopback` lets addresses of this very machine pass, also without TLS: for servers under development.
 * @throws RegistryError `invalid_input` with `field` upstream
 */
export function requirePublicAddress(text: string, { loopback }: { loopback: boolean }): URL {
  const url = URL.parse(text);
  if (!url) throw refused(`${quoted(text)} is no address; write it as https://host/path`);
  if (loopback && LOOPBACK_NAMES.includes(url.hostname) && isHttp(url)) return checked(url);
  if (url.protocol !== 'https:')
    throw refused(`${quoted(text)} is not an https address; only those are called`);
  if (isPrivate(url.hostname)) {
    throw refused(
      `${quoted(text)} is an address of a private network or of one machine; only public servers are called from here, others with "repertoire serve" on a device`,
    );
  }
  return checked(url);
}

function checked(url: URL): URL {
  if (url.username !== '' || url.password !== '')
    throw refused('The address holds a name or password; set them as the credential instead');
  if (url.hash !== '')
    throw refused('The address has a part after #, which no server ever sees; leave it out');
  return url;
}

function isHttp({ protocol }: URL): boolean {
  return protocol === 'http:' || protocol === 'https:';
}

/** Of a host name as the URL parser writes it: IPv4 in dotted decimals, IPv6 compressed and in brackets. */
function isPrivate(hostname: string): boolean {
  const host = hostname.replace(/\.+$/, '');
  if (host.startsWith('[')) return isPrivateV6(host.slice(1, -1));
  if (/^\d+(\.\d+){3}$/.test(host)) return isPrivateV4(host.split('.').map(Number));
  return !host.includes('.') || PRIVATE_NAMES.test(host);
}

/** What IANA's special-purpose registry says is not globally reachable. */
function isPrivateV4([a = 0, b = 0, c = 0]: readonly number[]): boolean {
  return (
    a === 0 ||
    a === 10 ||
    a === 127 ||
    a >= 224 ||
    (a === 100 && b >= 64 && b < 128) ||
    (a === 169 && b === 254) ||
    (a === 172 && b >= 16 && b < 32) ||
    (a === 192 && b === 0 && (c === 0 || c === 2)) ||
    (a === 192 && b === 88 && c === 99) ||
    (a === 192 && b === 168) ||
    (a === 198 && (b === 18 || b === 19)) ||
    (a === 198 && b === 51 && c === 100) ||
    (a === 203 && b === 0 && c === 113)
  );
}

/** Global unicast is 2000::/3; of it, documentation, Teredo and 6to4 lead elsewhere or to an IPv4 address. */
function isPrivateV6(address: string): boolean {
  const [first = 0, second = 0] = address.split(':').map((group) => Number.parseInt(group || '0', 16));
  if (first < 0x2000 || first > 0x3fff) return true;
  return first === 0x2002 || (first === 0x2001 && (second < 0x200 || second === 0xdb8));
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 200).toWellFormed());
}

function refused(what: string): RegistryError {
  return new RegistryError('invalid_input', `${what}.`, { field: 'upstream' });
}
