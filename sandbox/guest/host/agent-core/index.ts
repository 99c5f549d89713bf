/** `pi-agent-core` as a guest module. What extensions import of it are types. */
export {};
