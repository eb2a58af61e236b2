// The component. It imports interfaces of the host, so Node.js cannot load this file.

import { exportProvider } from "wardian-sdk/component";

import { provider } from "./provider.js";

export const { providerBase, ephemeralResources, providerFunctions } = exportProvider(provider);
