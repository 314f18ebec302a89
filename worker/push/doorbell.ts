import { DurableObject } from 'cloudflare:workers';
import { CLOSE, PING, PONG, type Ring } from '../../schema/push.ts';
import { type Bell, readBell } from './bell.ts';

/**
 * The sockets of one registry's devices, and nothing else: it rings, and the device pulls. Guarantees:
 * - it holds no truth: with the object gone, devices connect again, pull, and have everything;
 * - it sleeps while nothing rings: pings are answered by the runtime, and each socket carries who it is;
 * - one socket per device: a newer one replaces the older, so that one key on two machines shows;
 * - a device revoked while its socket was being opened gets none.
 */
export class Doorbell extends DurableObject {
  /** Ids are never used twice, so this set never says no to a device that may come. */
  readonly #revoked = new Set<string>();

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env);
    ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair(PING, PONG));
  }

  /** Opens a socket for the device that the Worker has authenticated. */
  override async fetch(request: Request): Promise<Response> {
    const bell = readBell(request.headers);
    const { 0: client, 1: server } = new WebSocketPair();
    for (const older of this.ctx.getWebSockets(bell.device)) close(older, CLOSE.replaced);
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

  /** Ids of the devices that are connected. */
  online(): string[] {
    const open = this.ctx.getWebSockets().filter((socket) => socket.readyState === WebSocket.OPEN);
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
  override webSocketClose(socket: WebSocket): void {
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
