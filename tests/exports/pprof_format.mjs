// Prints what the package pprof-format reads in a profile: node pprof_format.mjs FILE. One line of JSON: numbers as text.
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { Profile } from "pprof-format";

const profile = Profile.decode(gunzipSync(readFileSync(process.argv[2])));
const text = (number) => profile.stringTable.strings[Number(number)];
const functions = new Map(profile.function.map((each) => [String(each.id), each]));
const locations = new Map(profile.location.map((each) => [String(each.id), each]));
const name = (id) => text(functions.get(String(locations.get(String(id)).line[0].functionId)).name);
const samples = profile.sample.map((each) => [[...each.locationId].reverse().map(name), [...each.value].map(String)]);
const types = profile.sampleType.map((each) => [text(each.type), text(each.unit)]);
console.log(JSON.stringify({ types, samples, duration: String(profile.durationNanos) }));
