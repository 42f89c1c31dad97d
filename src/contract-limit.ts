/** How long a relay waits for an answer before it applies the Default Authorization Decision. */
export const contractMs = 400
