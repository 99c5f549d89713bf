/** Images as they are: the sandbox has no codec, so that none is made smaller or another kind. */
import { own } from "xdev:system";

interface Dimensions {
  widthPx: number;
  heightPx: number;
}
interface Resized {
  data: string;
  mimeType: string;
  originalWidth: number;
  originalHeight: number;
  width: number;
  height: number;
  wasResized: boolean;
}

/** The most that providers take, as base64. */
const MAX_CHARS = 4.5 * 1024 * 1024;

/** The image itself, if it is within the limits; null if it would have to be made smaller. */
export async function resizeImage(
  image: Uint8Array | { data: string; mimeType: string },
  mimeTypeOrOptions?: unknown,
  given?: { maxWidth?: number; maxHeight?: number; maxBytes?: number },
): Promise<Resized | null> {
  const isBytes = ArrayBuffer.isView(image);
  const data = isBytes ? Buffer.from(image as Uint8Array).toString("base64") : image.data;
  const mimeType = isBytes ? String(mimeTypeOrOptions) : image.mimeType;
  const {
    maxWidth = 2000,
    maxHeight = 2000,
    maxBytes = MAX_CHARS,
  } = given ?? (isBytes ? {} : ((mimeTypeOrOptions ?? {}) as NonNullable<typeof given>));
  const dimensionsOf = own("pi-tui").getImageDimensions as (data: string, type: string) => Dimensions | null;
  const { widthPx: width = 0, heightPx: height = 0 } = dimensionsOf(data, mimeType) ?? {};
  if (width === 0 || width > maxWidth || height > maxHeight || data.length > maxBytes) return null;
  return { data, mimeType, originalWidth: width, originalHeight: height, width, height, wasResized: false };
}

/** How the model finds a place of the original in an image that was made smaller; undefined for one that was not. */
export function formatDimensionNote(image: Resized): string | undefined {
  if (!image.wasResized) return undefined;
  const { originalWidth, originalHeight, width, height } = image;
  const scale = (originalWidth / width).toFixed(2);
  return `[Image: original ${originalWidth}x${originalHeight}, displayed at ${width}x${height}. Multiply coordinates by ${scale} to map to original image.]`;
}

/** A PNG as it is; null for every other kind. */
export async function convertToPng(
  data: string,
  mimeType: string,
): Promise<{ data: string; mimeType: string } | null> {
  return mimeType === "image/png" ? { data, mimeType } : null;
}
