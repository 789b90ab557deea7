/** Long work in slices, for rules that look at many items. @module */
export { breathe, inSlices } from "../db/slices.ts";
