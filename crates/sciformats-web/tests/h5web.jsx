// H5Web with the provider of the package, for the tests.

import "@h5web/app/styles.css";
import { App, DataProvider, DataProviderApi } from "@h5web/app";
import { createRoot } from "react-dom/client";
import { h5webProvider } from "/sciformats/h5web.js";

const query = new URLSearchParams(location.search);
const api = await h5webProvider(DataProviderApi, query.get("file"));
const root = document.createElement("div");
root.style.height = "100vh";
document.body.append(root);
createRoot(root).render(<DataProvider api={api}><App initialPath={query.get("path") ?? "/"} /></DataProvider>);
globalThis.api = api;
