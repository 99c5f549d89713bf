/** In the place of pi-tui's addons for the clipboard and the keyboard: a sandbox has none, as a platform without them. */
export function getNativePlatformHelper(): undefined {}
export function getNativeClipboard(): undefined {}
