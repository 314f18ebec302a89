/**
 * Where a request comes from, as Cloudflare tells: address and country, in words for the person who lets a device in. Of
 * an IPv6 address the network alone counts, since whoever has one address has all 2^64 of it.
 */
export function placeOf(request: Request): string {
  const address = request.headers.get('cf-connecting-ip');
  const place = address === null ? 'unknown address' : networkOf(address);
  const country = (request as Request<unknown, IncomingRequestCfProperties>).cf?.country;
  return country ? `${place} (${country})` : place;
}

function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const [left = [], right = []] = address.split('::').map((part) => part.split(':').filter(Boolean));
  const groups = [...left, ...Array(Math.max(0, 8 - left.length - right.length)).fill('0'), ...right];
  return `${groups.slice(0, 4).join(':')}::/64`;
}
