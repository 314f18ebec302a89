import type { ClientRow } from '../clients.ts';

/** How the method of a skill reaches the agent: in the description, or loaded with a tool; `auto` judges by the cap. */
export type Delivery = 'eager' | 'lazy' | 'auto';

/** UTF-16 units of a tool description that this client shows; null when there is no known cap. */
export declare function descriptionCap(client: ClientRow | null): number | null;
