/** Everything that extensions can do with files, by operation. Rights are decided in fs-place.ts, and kept in fs-hold.ts. */
import type { Operations } from "./broker.ts";
import { fileOperations } from "./fs-files.ts";
import { folderOperations } from "./fs-folders.ts";
import { nameOperations } from "./fs-names.ts";
import { placeOperations } from "./fs-places.ts";
import { watchOperations } from "./fs-watch.ts";

export const fsOperations: Operations = {
  ...fileOperations,
  ...folderOperations,
  ...nameOperations,
  ...placeOperations,
  ...watchOperations,
};
