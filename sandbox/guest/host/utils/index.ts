/** `@oh-my-pi/pi-utils`: what extensions of that agent use of it. */
export {};
