/** In this order: most browsers also carry the names of others. */
const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\b(?:OPR|OPT)\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|Chromium|CriOS|HeadlessChrome)\//, 'Chrome'],
  [/\bVersion\/[\d.]+ .*\bSafari\//, 'Safari'],
];

const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\bAndroid\b/, 'Android'],
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

/**
 * A browser in words, such as `Firefox on Linux`, for its person to recognise a session by. It says what the browser
 * says of itself, and no versions: an iPad calls itself a Mac, and anybody can call itself anything.
 */
export function browserOf(request: Request): string {
  const agent = request.headers.get('user-agent') ?? '';
  const first = (names: typeof BROWSERS) => names.find(([pattern]) => pattern.test(agent))?.[1];
  const system = first(SYSTEMS);
  return `${first(BROWSERS) ?? 'A browser'}${system ? ` on ${system}` : ''}`;
}
