/** `node:readline/promises`. */
import { promises } from "node:readline";

export const { Interface, createInterface } = promises;

export default promises;
