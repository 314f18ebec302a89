/**
 * Milliseconds between comments on an event stream. That a client is gone shows when something is written to it, so that
 * a call is given up within this time.
 */
export const KEEP_ALIVE_MS = 5000;
