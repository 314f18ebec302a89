import type { ClientRow } from '../clients.ts';

const DELIVERIES = ['eager', 'lazy', 'auto'] as const;

/** How the method of a skill reaches the agent: in the description, or loaded with a tool; `auto` judges by the cap. */
export type Delivery = (typeof DELIVERIES)[number];

export function isDelivery(value: unknown): value is Delivery {
  return DELIVERIES.some((delivery) => delivery === value);
}

/** Codex shows tool descriptions as the other OpenAI-style hosts do; the client table has no observation of its own. */
const OPENAI_STYLE = 1024;

/** UTF-16 units of a tool description that this client shows; null when there is no known cap. */
export function descriptionCap(client: ClientRow | null): number | null {
  if (client === null) return null;
  if (client.tool === 'unknown') return client.id === 'codex' ? OPENAI_STYLE : null;
  return Number.isFinite(client.tool) ? client.tool : null;
}
