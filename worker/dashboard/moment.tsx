const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const absolute = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'medium',
  timeStyle: 'short',
  timeZone: 'UTC',
});

/** A moment in words relative to now, with date and time for who asks. Milliseconds since the epoch. */
export function Moment({ at, now }: { at: number; now: number }) {
  return (
    <time datetime={new Date(at).toISOString()} title={`${absolute.format(at)} UTC`}>
      {distance(at, now)}
    </time>
  );
}

/** {@link Moment} of a last use, which there may not have been. */
export function LastUse({ at, now }: { at: number | null; now: number }) {
  return at === null ? <>never used</> : <>last used {<Moment at={at} now={now} />}</>;
}

function distance(at: number, now: number): string {
  const away = at - now;
  const size = Math.abs(away);
  if (size < MINUTE) return away > 0 ? 'in less than a minute' : 'just now';
  if (size < HOUR) return relative.format(Math.round(away / MINUTE), 'minute');
  if (size < DAY) return relative.format(Math.round(away / HOUR), 'hour');
  if (size < 60 * DAY) return relative.format(Math.round(away / DAY), 'day');
  return relative.format(Math.round(away / (30 * DAY)), 'month');
}
