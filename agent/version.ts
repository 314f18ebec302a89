/** Version of the command and the agent: package.json's, held equal by a test. */
export const VERSION = '0.1.0';
