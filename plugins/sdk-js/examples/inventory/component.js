import { exportProvider } from "../../src/component.js";
import { inventory } from "./provider.js";

export const { providerBase, ephemeralResources, providerFunctions } = exportProvider(inventory);
