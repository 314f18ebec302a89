import { DurableObject } from 'cloudflare:workers';
import { CLOSE, PING, PONG, type Ring } from '../../schema/push.ts';
import { type Bell, readBell } from './bell.ts';

/** How long the peer of a replaced socket may take to answer. */
const ANSWER_MS = 5000;

/**
 * The sockets of one registry's devices, and nothing else: it rings, and the device pulls. Guarantees:
 * - it holds no truth: with the object gone, devices connect again, pull, and have everything;
 * - it sleeps while nothing rings: pings are answered by the runtime, and each socket carries who it is;
 * - one socket per device: a newer one replaces the older, and where the older one's peer was alive, that is said, for then
 *   one key is on two machines;
 * - a device revoked while its socket was being opened gets none.
 */
export class Doorbell extends DurableObject {
  /** Ids are never used twice, so this set never says no to a device that may come. */
  readonly #revoked = new Set<string>();
  /** By device, the older socket that its newest one has replaced: known once its peer has answered. */
  readonly #replaced = new Map<string, PromiseWithResolvers<Bell>>();

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env);
    ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair(PING, PONG));
  }

  /** Opens a socket for the device that the Worker has authenticated. */
  override async fetch(request: Request): Promise<Response> {
    const bell = readBell(request.headers);
    const { 0: client, 1: server } = new WebSocketPair();
    const older = this.ctx.getWebSockets(bell.device).filter(isOpen);
    if (older.length > 0) this.#replaced.set(bell.device, Promise.withResolvers());
    else this.#replaced.delete(bell.device);
    for (const socket of older) close(socket, CLOSE.replaced);
    this.ctx.acceptWebSocket(server, [bell.device]);
    server.serializeAttachment(bell);
    if (this.#revoked.has(bell.device)) close(server, CLOSE.revoked);
    await this.#wakeAtNextExpiry();
    return new Response(null, { status: 101, webSocket: client });
  }

  /** Tells every connected device that the registry is at this cursor. */
  ring(cursor: string): void {
    const message = JSON.stringify({ type: 'ring', cursor } satisfies Ring);
    for (const socket of this.ctx.getWebSockets()) send(socket, message);
  }

  /** Closes a device's socket, for good. */
  revoke(device: string): void {
    this.#revoked.add(device);
    for (const socket of this.ctx.getWebSockets(device)) close(socket, CLOSE.revoked);
  }

  /**
   * The socket that the newest one of a device has replaced while the older one's peer was alive; null when there was none,
   * or one that nobody answered on for five seconds: a device that merely connects again leaves such a one behind.
   */
  async contested(device: string): Promise<Bell | null> {
    const older = this.#replaced.get(device)?.promise;
    if (!older) return null;
    return Promise.race([older, new Promise<null>((resolve) => setTimeout(resolve, ANSWER_MS, null))]);
  }

  /** Ids of the devices that are connected. */
  online(): string[] {
    const open = this.ctx.getWebSockets().filter(isOpen);
    return [...new Set(open.map((socket) => bellOf(socket).device))];
  }

  override async alarm(): Promise<void> {
    const now = Date.now();
    for (const socket of this.ctx.getWebSockets()) {
      if (bellOf(socket).expiresAt <= now) close(socket, CLOSE.expired);
    }
    await this.#wakeAtNextExpiry();
  }

  // A device only pings, and pings do not come here. Answering would invite it to send more.
  override webSocketMessage(): void {}

  // The runtime leaves the closing handshake of a hibernating socket to us; without an answer the device would wait for
  // it. The code received is not repeated: 1005, 1006 and 1015 tell how a socket ended, and sending one throws.
  override webSocketClose(socket: WebSocket, code: number, _reason: string, clean: boolean): void {
    // Only a program that runs finishes the closing handshake; of a connection that broke the runtime says 1006.
    if (clean && code === CLOSE.replaced.code) {
      const bell = bellOf(socket);
      this.#replaced.get(bell.device)?.resolve(bell);
    }
    close(socket, { code: 1000, reason: '' });
  }

  override webSocketError(): void {}

  async #wakeAtNextExpiry(): Promise<void> {
    const now = Date.now();
    const expiries = this.ctx
      .getWebSockets()
      .map((socket) => bellOf(socket).expiresAt)
      .filter((at) => at > now);
    if (expiries.length > 0) await this.ctx.storage.setAlarm(Math.min(...expiries));
  }
}

function isOpen({ readyState }: WebSocket): boolean {
  return readyState === WebSocket.OPEN;
}

function bellOf(socket: WebSocket): Bell {
  return socket.deserializeAttachment() as Bell;
}

function send(socket: WebSocket, message: string): void {
  try {
    socket.send(message);
  } catch {
    // It closed a moment ago; its device pulls when it connects again.
  }
}

function close(socket: WebSocket, { code, reason }: { code: number; reason: string }): void {
  try {
    socket.close(code, reason);
  } catch {
    // It is closed already.
  }
}
