import { Hono } from 'hono';
import { type DeviceHistory, type DeviceList, type DeviceToken, ReportBody } from '../../schema/api.ts';
import { type AppEnv, callerOf, proofOf, surroundings } from '../deps.ts';
import { issueDeviceToken } from '../registry/device-token.ts';
import { listDevices, revokeDevice } from '../registry/devices.ts';
import { deviceHistory } from '../registry/history.ts';
import { saveReport } from '../registry/report.ts';
import { bodyOf } from './input.ts';

/** Paired devices, under `/devices`. */
export const devices = new Hono<AppEnv>();

/** → `DeviceList`: what each has on its disk by its last report, and whether it is connected. Needs `skills:read`. */
devices.get('/', async (c) => {
  const ctx = await callerOf(c);
  const list = await listDevices(ctx);
  const online = new Set(await c.var.deps.push.online(ctx.actor.accountId));
  return c.json({
    ...list,
    devices: list.devices.map((device) => ({ ...device, online: online.has(device.id) })),
  } satisfies DeviceList);
});

/** A DPoP proof by a paired device's key, no body → `DeviceToken`. Errors: `unauthorized`, also for a revoked device. */
devices.post('/token', async (c) => {
  const answer: DeviceToken = await issueDeviceToken(surroundings(c), await proofOf(c));
  return c.json(answer);
});

/** `ReportBody` → 204. Only for a device. */
devices.put('/self/report', async (c) => {
  const ctx = await callerOf(c);
  await saveReport(ctx, await bodyOf(c, ReportBody));
  return c.body(null, 204);
});

/** → `DeviceHistory`, newest first. Errors: `not_found`. Needs `skills:read`. */
devices.get('/:id/history', async (c) => {
  const answer: DeviceHistory = await deviceHistory(await callerOf(c), c.req.param('id'));
  return c.json(answer);
});

/**
 * → 204: the device's access ends and its socket is closed; its files stay. Repeating it is no error. `self` is the
 * calling device. Errors: `not_found`. Needs `devices:write`, save for `self`.
 */
devices.delete('/:id', async (c) => {
  const ctx = await callerOf(c);
  const id = c.req.param('id');
  await revokeDevice(ctx, id === 'self' ? (await ctx.enter()).id : id);
  return c.body(null, 204);
});
