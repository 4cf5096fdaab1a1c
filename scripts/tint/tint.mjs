// tint.mjs PACKAGE FILE: compiles a shader; messages go to standard error, and the status is 1 where one is an error.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';

const [folder, file] = process.argv.slice(2);
const { create, globals } = await import(createRequire(import.meta.url).resolve(resolve(folder)));
Object.assign(globalThis, globals);
// A device that computes nothing: compiling needs no more.
const adapter = await create(['backend=null']).requestAdapter();
const device = await adapter.requestDevice();
device.pushErrorScope('validation'); // what is wrong comes as messages
const shader = device.createShaderModule({ code: readFileSync(file, 'utf8') });
const { messages } = await shader.getCompilationInfo();
for (const { type, lineNum, message } of messages) {
    console.error(`${file}:${lineNum}: ${type}: ${message}`);
}
const failed = messages.some(({ type }) => type === 'error');
if (!failed) console.log(`${file}: valid`);
process.exit(failed ? 1 : 0);
