"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.newRequestId = newRequestId;
const node_crypto_1 = require("node:crypto");
let prefix;
let count = 0;
/**
 * A request id that no other call has, of this process or any other; cheaper than a UUID a call. The random part is
 * the process's, the count its call's, and the time keeps apart the copies of a process that was restored from a
 * snapshot.
 */
function newRequestId() {
    prefix ??= (0, node_crypto_1.randomBytes)(15).toString('base64url');
    return `${prefix}-${(count++).toString(36)}-${Date.now().toString(36)}`;
}
