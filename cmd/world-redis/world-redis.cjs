/*!
 * @world-redis/client 0.1.0, Apache-2.0, https://github.com/world-redis/world-redis#readme
 *
 * It holds cbor-x and ws:
 *
 * cbor-x 1.6.9
 *
 * MIT License
 *
 * Copyright (c) 2020 Kris Zyp
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy
 * of this software and associated documentation files (the "Software"), to deal
 * in the Software without restriction, including without limitation the rights
 * to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
 * copies of the Software, and to permit persons to whom the Software is
 * furnished to do so, subject to the following conditions:
 *
 * The above copyright notice and this permission notice shall be included in all
 * copies or substantial portions of the Software.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
 * IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
 * FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
 * AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
 * LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
 * OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
 * SOFTWARE.
 *
 * ws 8.23.0
 *
 * Copyright (c) 2011 Einar Otto Stangvik <einaros@gmail.com>
 * Copyright (c) 2013 Arnout Kazemier and contributors
 * Copyright (c) 2016 Luigi Pinca and contributors
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy of
 * this software and associated documentation files (the "Software"), to deal in
 * the Software without restriction, including without limitation the rights to
 * use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of
 * the Software, and to permit persons to whom the Software is furnished to do so,
 * subject to the following conditions:
 *
 * The above copyright notice and this permission notice shall be included in all
 * copies or substantial portions of the Software.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
 * IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS
 * FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
 * COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER
 * IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
 * CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
 */
"use strict";
var __create = Object.create;
var __defProp = Object.defineProperty;
var __getOwnPropDesc = Object.getOwnPropertyDescriptor;
var __getOwnPropNames = Object.getOwnPropertyNames;
var __getProtoOf = Object.getPrototypeOf;
var __hasOwnProp = Object.prototype.hasOwnProperty;
var __commonJS = (cb, mod) => function __require() {
  try {
    return mod || (0, cb[__getOwnPropNames(cb)[0]])((mod = { exports: {} }).exports, mod), mod.exports;
  } catch (e) {
    throw mod = 0, e;
  }
};
var __export = (target, all) => {
  for (var name in all)
    __defProp(target, name, { get: all[name], enumerable: true });
};
var __copyProps = (to, from, except, desc) => {
  if (from && typeof from === "object" || typeof from === "function") {
    for (let key of __getOwnPropNames(from))
      if (!__hasOwnProp.call(to, key) && key !== except)
        __defProp(to, key, { get: () => from[key], enumerable: !(desc = __getOwnPropDesc(from, key)) || desc.enumerable });
  }
  return to;
};
var __toESM = (mod, isNodeMode, target) => (target = mod != null ? __create(__getProtoOf(mod)) : {}, __copyProps(
  // If the importer is in node compatibility mode or this is not an ESM
  // file that has been converted to a CommonJS file using a Babel-
  // compatible transform (i.e. "__esModule" has not been set), then set
  // "default" to the CommonJS "module.exports" for node compatibility.
  isNodeMode || !mod || !mod.__esModule ? __defProp(target, "default", { value: mod, enumerable: true }) : target,
  mod
));
var __toCommonJS = (mod) => __copyProps(__defProp({}, "__esModule", { value: true }), mod);

// node_modules/cbor-x/dist/index-no-eval.cjs
var require_index_no_eval = __commonJS({
  "node_modules/cbor-x/dist/index-no-eval.cjs"(exports2, module2) {
    (function(global, factory) {
      typeof exports2 === "object" && typeof module2 !== "undefined" ? factory(exports2) : typeof define === "function" && define.amd ? define(["exports"], factory) : (global = typeof globalThis !== "undefined" ? globalThis : global || self, factory(global.CBOR = {}));
    })(exports2, (function(exports3) {
      "use strict";
      let decoder;
      try {
        decoder = new TextDecoder();
      } catch (error) {
      }
      let src;
      let srcEnd;
      let position$1 = 0;
      const LEGACY_RECORD_INLINE_ID = 105;
      const RECORD_DEFINITIONS_ID = 57342;
      const RECORD_INLINE_ID = 57343;
      const BUNDLED_STRINGS_ID = 57337;
      const PACKED_REFERENCE_TAG_ID = 6;
      let maxArraySize = 11281e4;
      let maxMapSize = 1681e4;
      let maxObjectSize = 1671e4;
      let objectSizeLimit = maxObjectSize;
      let currentDecoder = {};
      let currentStructures;
      let srcString;
      let srcStringStart = 0;
      let srcStringEnd = 0;
      let bundledStrings$1;
      let referenceMap;
      let currentExtensions = [];
      let currentExtensionRanges = [];
      let packedValues;
      let dataView;
      let restoreMapsAsObject;
      let defaultOptions = {
        useRecords: false,
        mapsAsObjects: true
      };
      let sequentialMode = false;
      let inlineObjectReadThreshold = 2;
      var BlockedFunction;
      try {
        new BlockedFunction("");
      } catch (error) {
        inlineObjectReadThreshold = Infinity;
      }
      class Decoder {
        constructor(options) {
          if (options) {
            if ((options.keyMap || options._keyMap) && !options.useRecords) {
              options.useRecords = false;
              options.mapsAsObjects = true;
            }
            if (options.useRecords === false && options.mapsAsObjects === void 0)
              options.mapsAsObjects = true;
            if (options.getStructures)
              options.getShared = options.getStructures;
            if (options.getShared && !options.structures)
              (options.structures = []).uninitialized = true;
            if (options.keyMap) {
              this.mapKey = /* @__PURE__ */ new Map();
              for (let [k, v] of Object.entries(options.keyMap)) this.mapKey.set(v, k);
            }
          }
          Object.assign(this, options);
        }
        /*
        decodeKey(key) {
        	return this.keyMap
        		? Object.keys(this.keyMap)[Object.values(this.keyMap).indexOf(key)] || key
        		: key
        }
        */
        decodeKey(key) {
          return this.keyMap ? this.mapKey.get(key) || key : key;
        }
        encodeKey(key) {
          return this.keyMap && this.keyMap.hasOwnProperty(key) ? this.keyMap[key] : key;
        }
        encodeKeys(rec) {
          if (!this._keyMap) return rec;
          let map = /* @__PURE__ */ new Map();
          for (let [k, v] of Object.entries(rec)) map.set(this._keyMap.hasOwnProperty(k) ? this._keyMap[k] : k, v);
          return map;
        }
        decodeKeys(map) {
          if (!this._keyMap || map.constructor.name != "Map") return map;
          if (!this._mapKey) {
            this._mapKey = /* @__PURE__ */ new Map();
            for (let [k, v] of Object.entries(this._keyMap)) this._mapKey.set(v, k);
          }
          let res = {};
          map.forEach((v, k) => res[safeKey(this._mapKey.has(k) ? this._mapKey.get(k) : k)] = v);
          return res;
        }
        mapDecode(source, end2) {
          let res = this.decode(source);
          if (this._keyMap) {
            switch (res.constructor.name) {
              case "Array":
                return res.map((r) => this.decodeKeys(r));
            }
          }
          return res;
        }
        decode(source, end2) {
          if (src) {
            return saveState(() => {
              clearSource();
              return this ? this.decode(source, end2) : Decoder.prototype.decode.call(defaultOptions, source, end2);
            });
          }
          srcEnd = end2 > -1 && end2 < source.length ? end2 : source.length;
          position$1 = 0;
          srcStringEnd = 0;
          srcString = null;
          bundledStrings$1 = null;
          src = source;
          try {
            dataView = source.dataView || (source.dataView = new DataView(source.buffer, source.byteOffset, source.byteLength));
          } catch (error) {
            src = null;
            if (source instanceof Uint8Array)
              throw error;
            throw new Error("Source must be a Uint8Array or Buffer but was a " + (source && typeof source == "object" ? source.constructor.name : typeof source));
          }
          if (this instanceof Decoder) {
            currentDecoder = this;
            packedValues = this.sharedValues && (this.pack ? new Array(this.maxPrivatePackedValues || 16).concat(this.sharedValues) : this.sharedValues);
            if (this.structures) {
              currentStructures = this.structures;
              return checkedRead();
            } else if (!currentStructures || currentStructures.length > 0) {
              currentStructures = [];
            }
          } else {
            currentDecoder = defaultOptions;
            if (!currentStructures || currentStructures.length > 0)
              currentStructures = [];
            packedValues = null;
          }
          return checkedRead();
        }
        decodeMultiple(source, forEach) {
          if (src) {
            return saveState(() => {
              clearSource();
              return this ? this.decodeMultiple(source, forEach) : defaultDecoder.decodeMultiple(source, forEach);
            });
          }
          let values, lastPosition = 0;
          try {
            let size = source.length;
            sequentialMode = true;
            let value = this ? this.decode(source, size) : defaultDecoder.decode(source, size);
            if (forEach) {
              let end2 = position$1;
              if (forEach(value) === false) {
                return;
              }
              while (end2 < size) {
                lastPosition = end2;
                value = checkedRead();
                end2 = position$1;
                if (forEach(value) === false) {
                  return;
                }
              }
            } else {
              values = [value];
              while (position$1 < size) {
                lastPosition = position$1;
                values.push(checkedRead());
              }
              return values;
            }
          } catch (error) {
            if (error && (typeof error == "object" || typeof error == "function")) {
              error.lastPosition = lastPosition;
              error.values = values;
            }
            throw error;
          } finally {
            sequentialMode = false;
            clearSource();
          }
        }
      }
      const nestedDecodeErrors = /* @__PURE__ */ new WeakSet();
      let arrayAllocationBudget;
      function checkedRead() {
        try {
          arrayAllocationBudget = srcEnd - position$1;
          let result = read();
          if (bundledStrings$1) {
            if (position$1 >= bundledStrings$1.postBundlePosition)
              throw new Error("Unexpected bundle position");
            position$1 = bundledStrings$1.postBundlePosition;
            bundledStrings$1 = null;
          }
          if (position$1 == srcEnd) {
            currentStructures = null;
            src = null;
            if (referenceMap)
              referenceMap = null;
          } else if (position$1 > srcEnd) {
            let error = new Error("Unexpected end of CBOR data");
            error.incomplete = true;
            throw error;
          } else if (!sequentialMode) {
            throw new Error("Data read, but end of buffer not reached");
          }
          return result;
        } catch (error) {
          clearSource();
          if (nestedDecodeErrors.has(error)) {
            if (error.incomplete)
              error.incomplete = false;
          } else if (error instanceof RangeError && position$1 + 8 > srcEnd || error && typeof error.message == "string" && error.message.startsWith("Unexpected end of buffer")) {
            error.incomplete = true;
          }
          throw error;
        }
      }
      function readBreak() {
        if (position$1 < srcEnd && src[position$1] === 255) {
          position$1++;
          return true;
        }
        return false;
      }
      function endOfCBORError(neededEnd) {
        let error = new Error("Unexpected end of CBOR data");
        error.incomplete = true;
        if (neededEnd)
          error.neededEnd = neededEnd;
        return error;
      }
      function read() {
        if (!(position$1 < srcEnd)) throw endOfCBORError();
        let token = src[position$1++];
        let majorType = token >> 5;
        token = token & 31;
        if (token > 23) {
          switch (token) {
            case 24:
              if (position$1 >= srcEnd) throw endOfCBORError();
              token = src[position$1++];
              break;
            case 25:
              if (majorType == 7) {
                return getFloat16();
              }
              token = dataView.getUint16(position$1);
              position$1 += 2;
              break;
            case 26:
              if (majorType == 7) {
                let value = dataView.getFloat32(position$1);
                if (currentDecoder.useFloat32 > 2) {
                  let multiplier = mult10[(src[position$1] & 127) << 1 | src[position$1 + 1] >> 7];
                  position$1 += 4;
                  return (multiplier * value + (value > 0 ? 0.5 : -0.5) >> 0) / multiplier;
                }
                position$1 += 4;
                return value;
              }
              token = dataView.getUint32(position$1);
              position$1 += 4;
              if (majorType === 1) return -1 - token;
              break;
            case 27:
              if (majorType == 7) {
                let value = dataView.getFloat64(position$1);
                position$1 += 8;
                return value;
              }
              if (majorType > 1) {
                if (dataView.getUint32(position$1) > 0)
                  throw new Error("JavaScript does not support arrays, maps, or strings with length over 4294967295");
                token = dataView.getUint32(position$1 + 4);
              } else if (currentDecoder.int64AsNumber) {
                token = dataView.getUint32(position$1) * 4294967296;
                token += dataView.getUint32(position$1 + 4);
                position$1 += 8;
                if (majorType === 1) return -1 - token;
                break;
              } else token = dataView.getBigUint64(position$1);
              position$1 += 8;
              break;
            case 31:
              switch (majorType) {
                case 2:
                // byte string
                case 3:
                  throw new Error("Indefinite length not supported for byte or text strings");
                case 4:
                  let array = [];
                  let i = 0;
                  while (!readBreak()) {
                    if (i >= maxArraySize) throw new Error(`Array length exceeds ${maxArraySize}`);
                    array[i++] = read();
                  }
                  return majorType == 4 ? array : majorType == 3 ? array.join("") : Buffer.concat(array);
                case 5:
                  let key;
                  if (currentDecoder.mapsAsObjects) {
                    let object = {};
                    let i2 = 0;
                    if (currentDecoder.keyMap) {
                      while (!readBreak()) {
                        key = read();
                        if (i2++ >= objectSizeLimit) throw new Error(`Property count exceeds ${objectSizeLimit}`);
                        object[safeKey(currentDecoder.decodeKey(key))] = read();
                      }
                    } else {
                      while (!readBreak()) {
                        key = read();
                        if (i2++ >= objectSizeLimit) throw new Error(`Property count exceeds ${objectSizeLimit}`);
                        object[safeKey(key)] = read();
                      }
                    }
                    return object;
                  } else {
                    if (restoreMapsAsObject) {
                      currentDecoder.mapsAsObjects = true;
                      restoreMapsAsObject = false;
                    }
                    let map = /* @__PURE__ */ new Map();
                    if (currentDecoder.keyMap) {
                      let i2 = 0;
                      while (!readBreak()) {
                        key = read();
                        if (i2++ >= maxMapSize) {
                          throw new Error(`Map size exceeds ${maxMapSize}`);
                        }
                        map.set(currentDecoder.decodeKey(key), read());
                      }
                    } else {
                      let i2 = 0;
                      while (!readBreak()) {
                        key = read();
                        if (i2++ >= maxMapSize) {
                          throw new Error(`Map size exceeds ${maxMapSize}`);
                        }
                        map.set(key, read());
                      }
                    }
                    return map;
                  }
                case 7:
                  throw new Error("Unexpected break stop code outside of an indefinite-length item");
                default:
                  throw new Error("Invalid major type for indefinite length " + majorType);
              }
            default:
              throw new Error("Unknown token " + token);
          }
        }
        switch (majorType) {
          case 0:
            return token;
          case 1:
            return ~token;
          case 2:
            if (token > srcEnd - position$1) throw endOfCBORError(position$1 + token);
            return readBin(token);
          case 3:
            if (srcStringEnd >= position$1) {
              return srcString.slice(position$1 - srcStringStart, (position$1 += token) - srcStringStart);
            }
            if (token > srcEnd - position$1) throw endOfCBORError(position$1 + token);
            if (srcStringEnd == 0 && srcEnd < 140 && token < 32) {
              let string = token < 16 ? shortStringInJS(token) : longStringInJS(token);
              if (string != null)
                return string;
            }
            return readFixedString(token);
          case 4:
            if (token > maxArraySize) throw new Error(`Array length exceeds ${maxArraySize}`);
            if (token > srcEnd - position$1 || (arrayAllocationBudget -= token) < 0) throw endOfCBORError(position$1 + token);
            let array = new Array(token);
            for (let i = 0; i < token; i++) array[i] = read();
            return array;
          case 5:
            if (currentDecoder.mapsAsObjects) {
              if (token > objectSizeLimit) throw new Error(`Property count exceeds ${objectSizeLimit}`);
              if (token > (srcEnd - position$1) / 2) throw endOfCBORError(position$1 + 2 * token);
              let object = {};
              if (currentDecoder.keyMap) for (let i = 0; i < token; i++) object[safeKey(currentDecoder.decodeKey(read()))] = read();
              else for (let i = 0; i < token; i++) object[safeKey(read())] = read();
              return object;
            } else {
              if (restoreMapsAsObject) {
                currentDecoder.mapsAsObjects = true;
                restoreMapsAsObject = false;
              }
              if (token > maxMapSize) throw new Error(`Map size exceeds ${maxMapSize}`);
              if (token > (srcEnd - position$1) / 2) throw endOfCBORError(position$1 + 2 * token);
              let map = /* @__PURE__ */ new Map();
              if (currentDecoder.keyMap) for (let i = 0; i < token; i++) map.set(currentDecoder.decodeKey(read()), read());
              else for (let i = 0; i < token; i++) map.set(read(), read());
              return map;
            }
          case 6:
            if (token >= BUNDLED_STRINGS_ID) {
              let structure = currentStructures[token & 8191];
              if (structure) {
                if (!structure.read) structure.read = createStructureReader(structure);
                return structure.read();
              }
              if (token < 65536) {
                if (token == RECORD_INLINE_ID) {
                  let length = readJustLength();
                  let id = read();
                  let structure2 = read();
                  recordDefinition(id, structure2);
                  let object = {};
                  if (currentDecoder.keyMap) for (let i = 2; i < length; i++) {
                    let key = currentDecoder.decodeKey(structure2[i - 2]);
                    object[safeKey(key)] = read();
                  }
                  else for (let i = 2; i < length; i++) {
                    let key = structure2[i - 2];
                    object[safeKey(key)] = read();
                  }
                  return object;
                } else if (token == RECORD_DEFINITIONS_ID) {
                  let length = readJustLength();
                  let id = read();
                  for (let i = 2; i < length; i++) {
                    recordDefinition(id++, read());
                  }
                  return read();
                } else if (token == BUNDLED_STRINGS_ID) {
                  return readBundleExt();
                }
                if (currentDecoder.getShared) {
                  loadShared();
                  structure = currentStructures[token & 8191];
                  if (structure) {
                    if (!structure.read)
                      structure.read = createStructureReader(structure);
                    return structure.read();
                  }
                }
              }
            }
            let extension = currentExtensions[token];
            if (extension) {
              if (extension.handlesRead)
                return extension(read);
              else
                return extension(read());
            } else {
              let input = read();
              for (let i = 0; i < currentExtensionRanges.length; i++) {
                let value = currentExtensionRanges[i](token, input);
                if (value !== void 0)
                  return value;
              }
              return new Tag(input, token);
            }
          case 7:
            switch (token) {
              case 20:
                return false;
              case 21:
                return true;
              case 22:
                return null;
              case 23:
                return;
              // undefined
              case 31:
              default:
                let packedValue = (packedValues || getPackedValues())[token];
                if (packedValue !== void 0)
                  return packedValue;
                throw new Error("Unknown token " + token);
            }
          default:
            if (isNaN(token)) throw endOfCBORError();
            throw new Error("Unknown CBOR token " + token);
        }
      }
      const validName = /^[a-zA-Z_$][a-zA-Z\d_$]*$/;
      function createStructureReader(structure) {
        if (!structure) throw new Error("Structure is required in record definition");
        function readObject() {
          let length = src[position$1++];
          length = length & 31;
          if (length > 23) {
            switch (length) {
              case 24:
                length = src[position$1++];
                break;
              case 25:
                length = dataView.getUint16(position$1);
                position$1 += 2;
                break;
              case 26:
                length = dataView.getUint32(position$1);
                position$1 += 4;
                break;
              default:
                throw new Error("Expected array header, but got " + src[position$1 - 1]);
            }
          }
          let compiledReader = this.compiledReader;
          while (compiledReader) {
            if (compiledReader.propertyCount === length)
              return compiledReader(read);
            compiledReader = compiledReader.next;
          }
          if (this.slowReads++ >= inlineObjectReadThreshold) {
            let array = this.length == length ? this : this.slice(0, length);
            compiledReader = currentDecoder.keyMap ? new BlockedFunction("r", "return {" + array.map((k) => currentDecoder.decodeKey(k)).map((k) => validName.test(k) ? safeKey(k) + ":r()" : "[" + JSON.stringify(k) + "]:r()").join(",") + "}") : new BlockedFunction("r", "return {" + array.map((key) => validName.test(key) ? safeKey(key) + ":r()" : "[" + JSON.stringify(key) + "]:r()").join(",") + "}");
            if (this.compiledReader)
              compiledReader.next = this.compiledReader;
            compiledReader.propertyCount = length;
            this.compiledReader = compiledReader;
            return compiledReader(read);
          }
          let object = {};
          if (currentDecoder.keyMap) for (let i = 0; i < length; i++) object[safeKey(currentDecoder.decodeKey(this[i]))] = read();
          else for (let i = 0; i < length; i++) {
            object[safeKey(this[i])] = read();
          }
          return object;
        }
        structure.slowReads = 0;
        return readObject;
      }
      function safeKey(key) {
        if (typeof key === "string") return key === "__proto__" ? "__proto_" : key;
        if (typeof key === "number" || typeof key === "boolean" || typeof key === "bigint") return key.toString();
        if (key == null) return key + "";
        throw new Error("Invalid property name type " + typeof key);
      }
      let readFixedString = readStringJS;
      let isNativeAccelerationEnabled = false;
      function readStringJS(length) {
        let result;
        if (length < 16) {
          if (result = shortStringInJS(length))
            return result;
        }
        if (length > 64 && decoder)
          return decoder.decode(src.subarray(position$1, position$1 += length));
        const end2 = position$1 + length;
        const units = [];
        result = "";
        while (position$1 < end2) {
          const byte1 = src[position$1++];
          if ((byte1 & 128) === 0) {
            units.push(byte1);
          } else if ((byte1 & 224) === 192) {
            if (byte1 < 194 || position$1 >= end2 || (src[position$1] & 192) !== 128) {
              units.push(65533);
            } else {
              const byte2 = src[position$1++] & 63;
              units.push((byte1 & 31) << 6 | byte2);
            }
          } else if ((byte1 & 240) === 224) {
            const byte2 = position$1 < end2 ? src[position$1] : 0;
            if (position$1 >= end2 || (byte2 & 192) !== 128 || byte1 === 224 && byte2 < 160 || byte1 === 237 && byte2 >= 160) {
              units.push(65533);
            } else {
              position$1++;
              if (position$1 >= end2 || (src[position$1] & 192) !== 128) {
                units.push(65533);
              } else {
                const byte3 = src[position$1++] & 63;
                units.push((byte1 & 31) << 12 | (byte2 & 63) << 6 | byte3);
              }
            }
          } else if ((byte1 & 248) === 240) {
            const byte2 = position$1 < end2 ? src[position$1] : 0;
            if (byte1 > 244 || position$1 >= end2 || (byte2 & 192) !== 128 || byte1 === 240 && byte2 < 144 || byte1 === 244 && byte2 >= 144) {
              units.push(65533);
            } else {
              position$1++;
              if (position$1 >= end2 || (src[position$1] & 192) !== 128) {
                units.push(65533);
              } else {
                const byte3 = src[position$1++] & 63;
                if (position$1 >= end2 || (src[position$1] & 192) !== 128) {
                  units.push(65533);
                } else {
                  const byte4 = src[position$1++] & 63;
                  let unit = (byte1 & 7) << 18 | (byte2 & 63) << 12 | byte3 << 6 | byte4;
                  unit -= 65536;
                  units.push(unit >>> 10 & 1023 | 55296);
                  units.push(56320 | unit & 1023);
                }
              }
            }
          } else {
            units.push(65533);
          }
          if (units.length >= 4096) {
            result += fromCharCode.apply(String, units);
            units.length = 0;
          }
        }
        if (units.length > 0) {
          result += fromCharCode.apply(String, units);
        }
        return result;
      }
      let fromCharCode = String.fromCharCode;
      function longStringInJS(length) {
        let start = position$1;
        let bytes = new Array(length);
        for (let i = 0; i < length; i++) {
          const byte = src[position$1++];
          if ((byte & 128) > 0) {
            position$1 = start;
            return;
          }
          bytes[i] = byte;
        }
        return fromCharCode.apply(String, bytes);
      }
      function shortStringInJS(length) {
        if (length < 4) {
          if (length < 2) {
            if (length === 0)
              return "";
            else {
              let a = src[position$1++];
              if ((a & 128) > 1) {
                position$1 -= 1;
                return;
              }
              return fromCharCode(a);
            }
          } else {
            let a = src[position$1++];
            let b = src[position$1++];
            if ((a & 128) > 0 || (b & 128) > 0) {
              position$1 -= 2;
              return;
            }
            if (length < 3)
              return fromCharCode(a, b);
            let c = src[position$1++];
            if ((c & 128) > 0) {
              position$1 -= 3;
              return;
            }
            return fromCharCode(a, b, c);
          }
        } else {
          let a = src[position$1++];
          let b = src[position$1++];
          let c = src[position$1++];
          let d = src[position$1++];
          if ((a & 128) > 0 || (b & 128) > 0 || (c & 128) > 0 || (d & 128) > 0) {
            position$1 -= 4;
            return;
          }
          if (length < 6) {
            if (length === 4)
              return fromCharCode(a, b, c, d);
            else {
              let e = src[position$1++];
              if ((e & 128) > 0) {
                position$1 -= 5;
                return;
              }
              return fromCharCode(a, b, c, d, e);
            }
          } else if (length < 8) {
            let e = src[position$1++];
            let f = src[position$1++];
            if ((e & 128) > 0 || (f & 128) > 0) {
              position$1 -= 6;
              return;
            }
            if (length < 7)
              return fromCharCode(a, b, c, d, e, f);
            let g = src[position$1++];
            if ((g & 128) > 0) {
              position$1 -= 7;
              return;
            }
            return fromCharCode(a, b, c, d, e, f, g);
          } else {
            let e = src[position$1++];
            let f = src[position$1++];
            let g = src[position$1++];
            let h = src[position$1++];
            if ((e & 128) > 0 || (f & 128) > 0 || (g & 128) > 0 || (h & 128) > 0) {
              position$1 -= 8;
              return;
            }
            if (length < 10) {
              if (length === 8)
                return fromCharCode(a, b, c, d, e, f, g, h);
              else {
                let i = src[position$1++];
                if ((i & 128) > 0) {
                  position$1 -= 9;
                  return;
                }
                return fromCharCode(a, b, c, d, e, f, g, h, i);
              }
            } else if (length < 12) {
              let i = src[position$1++];
              let j = src[position$1++];
              if ((i & 128) > 0 || (j & 128) > 0) {
                position$1 -= 10;
                return;
              }
              if (length < 11)
                return fromCharCode(a, b, c, d, e, f, g, h, i, j);
              let k = src[position$1++];
              if ((k & 128) > 0) {
                position$1 -= 11;
                return;
              }
              return fromCharCode(a, b, c, d, e, f, g, h, i, j, k);
            } else {
              let i = src[position$1++];
              let j = src[position$1++];
              let k = src[position$1++];
              let l = src[position$1++];
              if ((i & 128) > 0 || (j & 128) > 0 || (k & 128) > 0 || (l & 128) > 0) {
                position$1 -= 12;
                return;
              }
              if (length < 14) {
                if (length === 12)
                  return fromCharCode(a, b, c, d, e, f, g, h, i, j, k, l);
                else {
                  let m = src[position$1++];
                  if ((m & 128) > 0) {
                    position$1 -= 13;
                    return;
                  }
                  return fromCharCode(a, b, c, d, e, f, g, h, i, j, k, l, m);
                }
              } else {
                let m = src[position$1++];
                let n = src[position$1++];
                if ((m & 128) > 0 || (n & 128) > 0) {
                  position$1 -= 14;
                  return;
                }
                if (length < 15)
                  return fromCharCode(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
                let o = src[position$1++];
                if ((o & 128) > 0) {
                  position$1 -= 15;
                  return;
                }
                return fromCharCode(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o);
              }
            }
          }
        }
      }
      function readBin(length) {
        return currentDecoder.copyBuffers ? (
          // specifically use the copying slice (not the node one)
          Uint8Array.prototype.slice.call(src, position$1, position$1 += length)
        ) : src.subarray(position$1, position$1 += length);
      }
      let f32Array = new Float32Array(1);
      let u8Array = new Uint8Array(f32Array.buffer, 0, 4);
      function getFloat16() {
        let byte0 = src[position$1++];
        let byte1 = src[position$1++];
        let exponent = (byte0 & 127) >> 2;
        if (exponent === 31) {
          if (byte1 || byte0 & 3)
            return NaN;
          return byte0 & 128 ? -Infinity : Infinity;
        }
        if (exponent === 0) {
          let abs = ((byte0 & 3) << 8 | byte1) / (1 << 24);
          return byte0 & 128 ? -abs : abs;
        }
        u8Array[3] = byte0 & 128 | // sign bit
        (exponent >> 1) + 56;
        u8Array[2] = (byte0 & 7) << 5 | // last exponent bit and first two mantissa bits
        byte1 >> 3;
        u8Array[1] = byte1 << 5;
        u8Array[0] = 0;
        return f32Array[0];
      }
      new Array(4096);
      class Tag {
        constructor(value, tag) {
          this.value = value;
          this.tag = tag;
        }
      }
      currentExtensions[0] = (dateString) => {
        return new Date(dateString);
      };
      currentExtensions[1] = (epochSec) => {
        return new Date(Math.round(epochSec * 1e3));
      };
      currentExtensions[2] = (buffer) => {
        let value = BigInt(0);
        for (let i = 0, l = buffer.byteLength; i < l; i++) {
          value = BigInt(buffer[i]) + (value << BigInt(8));
        }
        return value;
      };
      currentExtensions[3] = (buffer) => {
        return BigInt(-1) - currentExtensions[2](buffer);
      };
      currentExtensions[4] = (fraction) => {
        return +(fraction[1] + "e" + fraction[0]);
      };
      currentExtensions[5] = (fraction) => {
        return fraction[1] * Math.exp(fraction[0] * Math.log(2));
      };
      const recordDefinition = (id, structure) => {
        id = id - 57344;
        let existingStructure = currentStructures[id];
        if (existingStructure && existingStructure.isShared) {
          (currentStructures.restoreStructures || (currentStructures.restoreStructures = []))[id] = existingStructure;
        }
        currentStructures[id] = structure;
        structure.read = createStructureReader(structure);
      };
      currentExtensions[LEGACY_RECORD_INLINE_ID] = (data) => {
        let length = data.length;
        let structure = data[1];
        recordDefinition(data[0], structure);
        let object = {};
        for (let i = 2; i < length; i++) {
          let key = structure[i - 2];
          object[safeKey(key)] = data[i];
        }
        return object;
      };
      const legacyRecordDefinition = currentExtensions[LEGACY_RECORD_INLINE_ID];
      currentExtensions[14] = (value) => {
        if (bundledStrings$1)
          return bundledStrings$1[0].slice(bundledStrings$1.position0, bundledStrings$1.position0 += value);
        return new Tag(value, 14);
      };
      currentExtensions[15] = (value) => {
        if (bundledStrings$1)
          return bundledStrings$1[1].slice(bundledStrings$1.position1, bundledStrings$1.position1 += value);
        return new Tag(value, 15);
      };
      let glbl = { Error, RegExp };
      currentExtensions[27] = (data) => {
        return (glbl[data[0]] || Error)(data[1], data[2]);
      };
      const packedTable = (read2) => {
        if (!(position$1 < srcEnd)) throw endOfCBORError();
        if (src[position$1++] != 132)
          throw new Error("Packed values structure must be followed by a 4 element array");
        let newPackedValues = read2();
        if (!Array.isArray(newPackedValues) || !newPackedValues.length)
          throw new Error("Packed values structure must be followed by a 4 element array");
        packedValues = packedValues ? newPackedValues.concat(packedValues.slice(newPackedValues.length)) : newPackedValues;
        packedValues.prefixes = read2();
        packedValues.suffixes = read2();
        return read2();
      };
      packedTable.handlesRead = true;
      currentExtensions[51] = packedTable;
      currentExtensions[PACKED_REFERENCE_TAG_ID] = (data) => {
        if (!packedValues) {
          if (currentDecoder.getShared)
            loadShared();
          else
            return new Tag(data, PACKED_REFERENCE_TAG_ID);
        }
        if (typeof data == "number")
          return packedValues[16 + (data >= 0 ? 2 * data : -2 * data - 1)];
        throw new Error("No support for non-integer packed references yet");
      };
      currentExtensions[28] = (read2) => {
        if (!referenceMap) {
          referenceMap = /* @__PURE__ */ new Map();
          referenceMap.id = 0;
        }
        let id = referenceMap.id++;
        let startingPosition = position$1;
        let token = src[position$1];
        let target2;
        if (token >> 5 == 4)
          target2 = [];
        else
          target2 = {};
        let refEntry = { target: target2 };
        referenceMap.set(id, refEntry);
        let targetProperties = read2();
        if (refEntry.used) {
          if (Object.getPrototypeOf(target2) !== Object.getPrototypeOf(targetProperties)) {
            position$1 = startingPosition;
            target2 = targetProperties;
            referenceMap.set(id, { target: target2 });
            targetProperties = read2();
          }
          return Object.assign(target2, targetProperties);
        }
        refEntry.target = targetProperties;
        return targetProperties;
      };
      currentExtensions[28].handlesRead = true;
      currentExtensions[29] = (id) => {
        let refEntry = referenceMap.get(id);
        refEntry.used = true;
        return refEntry.target;
      };
      currentExtensions[258] = (array) => new Set(array);
      (currentExtensions[259] = (read2) => {
        let decoder2 = currentDecoder;
        if (decoder2.mapsAsObjects) {
          decoder2.mapsAsObjects = false;
          restoreMapsAsObject = true;
          try {
            return read2();
          } finally {
            if (restoreMapsAsObject) {
              decoder2.mapsAsObjects = true;
              restoreMapsAsObject = false;
            }
          }
        }
        return read2();
      }).handlesRead = true;
      function combine(a, b) {
        if (typeof a === "string")
          return a + b;
        if (a instanceof Array)
          return a.concat(b);
        return Object.assign({}, a, b);
      }
      function getPackedValues() {
        if (!packedValues) {
          if (currentDecoder.getShared)
            loadShared();
          else
            throw new Error("No packed values available");
        }
        return packedValues;
      }
      const SHARED_DATA_TAG_ID = 1399353956;
      currentExtensionRanges.push((tag, input) => {
        if (tag >= 225 && tag <= 255)
          return combine(getPackedValues().prefixes[tag - 224], input);
        if (tag >= 28704 && tag <= 32767)
          return combine(getPackedValues().prefixes[tag - 28672], input);
        if (tag >= 1879052288 && tag <= 2147483647)
          return combine(getPackedValues().prefixes[tag - 1879048192], input);
        if (tag >= 216 && tag <= 223)
          return combine(input, getPackedValues().suffixes[tag - 216]);
        if (tag >= 27647 && tag <= 28671)
          return combine(input, getPackedValues().suffixes[tag - 27639]);
        if (tag >= 1811940352 && tag <= 1879048191)
          return combine(input, getPackedValues().suffixes[tag - 1811939328]);
        if (tag == SHARED_DATA_TAG_ID) {
          return {
            packedValues,
            structures: currentStructures.slice(0),
            version: input
          };
        }
        if (tag == 55799)
          return input;
      });
      const isLittleEndianMachine$1 = new Uint8Array(new Uint16Array([1]).buffer)[0] == 1;
      const typedArrays2 = [
        Uint8Array,
        Uint8ClampedArray,
        Uint16Array,
        Uint32Array,
        typeof BigUint64Array == "undefined" ? { name: "BigUint64Array" } : BigUint64Array,
        Int8Array,
        Int16Array,
        Int32Array,
        typeof BigInt64Array == "undefined" ? { name: "BigInt64Array" } : BigInt64Array,
        Float32Array,
        Float64Array
      ];
      const typedArrayTags = [64, 68, 69, 70, 71, 72, 77, 78, 79, 85, 86];
      for (let i = 0; i < typedArrays2.length; i++) {
        registerTypedArray(typedArrays2[i], typedArrayTags[i]);
      }
      function registerTypedArray(TypedArray, tag) {
        let dvMethod = "get" + TypedArray.name.slice(0, -5);
        let bytesPerElement;
        if (typeof TypedArray === "function")
          bytesPerElement = TypedArray.BYTES_PER_ELEMENT;
        else
          TypedArray = null;
        for (let littleEndian = 0; littleEndian < 2; littleEndian++) {
          if (!littleEndian && bytesPerElement == 1)
            continue;
          let sizeShift = bytesPerElement == 2 ? 1 : bytesPerElement == 4 ? 2 : bytesPerElement == 8 ? 3 : 0;
          currentExtensions[littleEndian ? tag : tag - 4] = bytesPerElement == 1 || littleEndian == isLittleEndianMachine$1 ? (buffer) => {
            if (!TypedArray)
              throw new Error("Could not find typed array for code " + tag);
            if (!currentDecoder.copyBuffers) {
              if (bytesPerElement === 1 || bytesPerElement === 2 && !(buffer.byteOffset & 1) || bytesPerElement === 4 && !(buffer.byteOffset & 3) || bytesPerElement === 8 && !(buffer.byteOffset & 7))
                return new TypedArray(buffer.buffer, buffer.byteOffset, buffer.byteLength >> sizeShift);
            }
            return new TypedArray(Uint8Array.prototype.slice.call(buffer, 0).buffer);
          } : (buffer) => {
            if (!TypedArray)
              throw new Error("Could not find typed array for code " + tag);
            let dv = new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
            let elements = buffer.length >> sizeShift;
            let ta = new TypedArray(elements);
            let method = dv[dvMethod];
            for (let i = 0; i < elements; i++) {
              ta[i] = method.call(dv, i << sizeShift, littleEndian);
            }
            return ta;
          };
        }
      }
      function readBundleExt() {
        let length = readJustLength();
        let bundlePosition = position$1 + read();
        for (let i = 2; i < length; i++) {
          let bundleLength = readJustLength();
          position$1 += bundleLength;
        }
        let dataPosition = position$1;
        position$1 = bundlePosition;
        bundledStrings$1 = [readStringJS(readJustLength()), readStringJS(readJustLength())];
        bundledStrings$1.position0 = 0;
        bundledStrings$1.position1 = 0;
        bundledStrings$1.postBundlePosition = position$1;
        position$1 = dataPosition;
        return read();
      }
      function readJustLength() {
        if (!(position$1 < srcEnd)) throw endOfCBORError();
        let token = src[position$1++] & 31;
        if (token > 23) {
          switch (token) {
            case 24:
              if (position$1 >= srcEnd) throw endOfCBORError();
              token = src[position$1++];
              break;
            case 25:
              if (position$1 + 2 > srcEnd) throw endOfCBORError();
              token = dataView.getUint16(position$1);
              position$1 += 2;
              break;
            case 26:
              if (position$1 + 4 > srcEnd) throw endOfCBORError();
              token = dataView.getUint32(position$1);
              position$1 += 4;
              break;
          }
        }
        return token;
      }
      function loadShared() {
        if (currentDecoder.getShared) {
          let sharedData = saveState(() => {
            src = null;
            return currentDecoder.getShared();
          }) || {};
          let updatedStructures = sharedData.structures || [];
          currentDecoder.sharedVersion = sharedData.version;
          packedValues = currentDecoder.sharedValues = sharedData.packedValues;
          if (currentStructures === true)
            currentDecoder.structures = currentStructures = updatedStructures;
          else
            currentStructures.splice.apply(currentStructures, [0, updatedStructures.length].concat(updatedStructures));
        }
      }
      function saveState(callback) {
        let savedFragmentEnd = fragmentEnd;
        let savedFragmentReader = fragmentReadString;
        let savedReadFixedString = readFixedString;
        let savedSrcEnd = srcEnd;
        let savedPosition = position$1;
        let savedSrcStringStart = srcStringStart;
        let savedSrcStringEnd = srcStringEnd;
        let savedSrcString = srcString;
        let savedReferenceMap = referenceMap;
        let savedBundledStrings = bundledStrings$1;
        let savedPackedValues = packedValues;
        let savedSrc = new Uint8Array(src.slice(0, srcEnd));
        let savedStructures = currentStructures;
        let savedDecoder = currentDecoder;
        let savedSequentialMode = sequentialMode;
        let savedRestoreMapsAsObject = restoreMapsAsObject;
        let savedArrayAllocationBudget = arrayAllocationBudget;
        fragmentEnd = 0;
        if (fragmentReadString) readFixedString = fragmentReadString;
        fragmentReadString = null;
        restoreMapsAsObject = false;
        try {
          return callback();
        } catch (error) {
          if (error && (typeof error == "object" || typeof error == "function"))
            nestedDecodeErrors.add(error);
          throw error;
        } finally {
          fragmentEnd = savedFragmentEnd;
          fragmentReadString = savedFragmentReader;
          readFixedString = savedReadFixedString;
          srcEnd = savedSrcEnd;
          position$1 = savedPosition;
          srcStringStart = savedSrcStringStart;
          srcStringEnd = savedSrcStringEnd;
          srcString = savedSrcString;
          referenceMap = savedReferenceMap;
          bundledStrings$1 = savedBundledStrings;
          packedValues = savedPackedValues;
          src = savedSrc;
          sequentialMode = savedSequentialMode;
          currentStructures = savedStructures;
          currentDecoder = savedDecoder;
          restoreMapsAsObject = savedRestoreMapsAsObject;
          arrayAllocationBudget = savedArrayAllocationBudget;
          dataView = new DataView(src.buffer, src.byteOffset, src.byteLength);
        }
      }
      function clearSource() {
        src = null;
        referenceMap = null;
        currentStructures = null;
      }
      const registeredExtensions = /* @__PURE__ */ new Map();
      let fragmentEnd = 0;
      let fragmentReadString;
      const builtinScanTags = /* @__PURE__ */ new Map([[LEGACY_RECORD_INLINE_ID, legacyRecordDefinition], [259, currentExtensions[259]]]);
      function isBuiltinScanTag(tag) {
        return builtinScanTags.has(tag) && currentExtensions[tag] === builtinScanTags.get(tag);
      }
      function getScanTag(tag, decoder2) {
        return tag >= BUNDLED_STRINGS_ID && decoder2.structures && decoder2.structures[tag & 8191];
      }
      function checkScanContainer(major, length, mapsAsObjects) {
        if (major === 4) {
          if (length > maxArraySize) throw new Error(`Array length exceeds ${maxArraySize}`);
        } else if (mapsAsObjects) {
          if (length > objectSizeLimit) throw new Error(`Property count exceeds ${objectSizeLimit}`);
        } else if (length > maxMapSize) throw new Error(`Map size exceeds ${maxMapSize}`);
      }
      function decodeScanned(decoder2, source, end2) {
        const boundStrings = isNativeAccelerationEnabled;
        if (!registeredExtensions.size && !boundStrings) return decoder2.decodeMultiple(source);
        const savedEnd = fragmentEnd;
        const savedReader = readFixedString;
        const savedFragmentReader = fragmentReadString;
        const originals = [];
        fragmentEnd = end2;
        fragmentReadString = savedReader;
        try {
          if (boundStrings) ;
          for (const [tag, extension] of registeredExtensions) {
            if (!extension.handlesRead) continue;
            const original = currentExtensions[tag];
            const guarded = (read2) => {
              if (!fragmentEnd || position$1 >= fragmentEnd) return extension(read2);
              let calls = 0, framingError;
              const value = extension(() => {
                if (calls++) {
                  framingError = new Error("Tag " + tag + ": fragmented decoding cannot frame multi-item handlesRead extensions");
                  throw framingError;
                }
                return read2();
              });
              if (framingError) throw framingError;
              return value;
            };
            guarded.handlesRead = true;
            originals.push([tag, original, guarded]);
            currentExtensions[tag] = guarded;
          }
          return decoder2.decodeMultiple(source);
        } finally {
          fragmentEnd = savedEnd;
          fragmentReadString = savedFragmentReader;
          readFixedString = savedReader;
          for (const [tag, original, guarded] of originals) {
            if (currentExtensions[tag] === guarded) currentExtensions[tag] = original;
          }
        }
      }
      const _stream = {
        getTag: getScanTag,
        isBuiltinTag: isBuiltinScanTag,
        checkContainer: checkScanContainer,
        decode: decodeScanned,
        get readThreshold() {
          return inlineObjectReadThreshold;
        }
      };
      function addExtension$1(extension) {
        currentExtensions[extension.tag] = extension.decode;
        if (typeof extension.decode === "function") registeredExtensions.set(extension.tag, extension.decode);
        else registeredExtensions.delete(extension.tag);
      }
      function setSizeLimits(limits) {
        if (limits.maxMapSize) maxMapSize = limits.maxMapSize;
        if (limits.maxArraySize) maxArraySize = limits.maxArraySize;
        if (limits.maxObjectSize) maxObjectSize = limits.maxObjectSize;
        objectSizeLimit = Math.min(maxObjectSize, maxMapSize);
      }
      const mult10 = new Array(147);
      for (let i = 0; i < 256; i++) {
        mult10[i] = +("1e" + Math.floor(45.15 - i * 0.30103));
      }
      let defaultDecoder = new Decoder({ useRecords: false });
      const decode2 = defaultDecoder.decode;
      const decodeMultiple = defaultDecoder.decodeMultiple;
      const FLOAT32_OPTIONS = {
        NEVER: 0,
        ALWAYS: 1,
        DECIMAL_ROUND: 3,
        DECIMAL_FIT: 4
      };
      function roundFloat32(float32Number) {
        f32Array[0] = float32Number;
        let multiplier = mult10[(u8Array[3] & 127) << 1 | u8Array[2] >> 7];
        return (multiplier * float32Number + (float32Number > 0 ? 0.5 : -0.5) >> 0) / multiplier;
      }
      let textEncoder;
      try {
        textEncoder = new TextEncoder();
      } catch (error) {
      }
      let extensions, extensionClasses;
      const Buffer$1 = typeof globalThis === "object" && globalThis.Buffer;
      const hasNodeBuffer = typeof Buffer$1 !== "undefined";
      const ByteArrayAllocate = hasNodeBuffer ? Buffer$1.allocUnsafeSlow : Uint8Array;
      const ByteArray = hasNodeBuffer ? Buffer$1 : Uint8Array;
      const MAX_STRUCTURES = 256;
      const MAX_BUFFER_SIZE = hasNodeBuffer ? 4294967296 : 2144337920;
      let throwOnIterable;
      let target;
      let targetView;
      let position = 0;
      let safeEnd;
      let bundledStrings = null;
      const MAX_BUNDLE_SIZE = 61440;
      const hasNonLatin = /[\u0080-\uFFFF]/;
      const RECORD_SYMBOL = /* @__PURE__ */ Symbol("record-id");
      class Encoder2 extends Decoder {
        constructor(options) {
          super(options);
          this.offset = 0;
          let start;
          let sharedStructures;
          let hasSharedUpdate;
          let structures;
          let referenceMap2;
          options = options || {};
          let encodeUtf8 = ByteArray.prototype.utf8Write ? function(string, position2) {
            return target.utf8Write(string, position2, target.byteLength - position2);
          } : textEncoder && textEncoder.encodeInto ? function(string, position2) {
            return textEncoder.encodeInto(string, target.subarray(position2)).written;
          } : false;
          let encoder = this;
          let hasSharedStructures = options.structures || options.saveStructures;
          let maxSharedStructures = options.maxSharedStructures;
          if (maxSharedStructures == null)
            maxSharedStructures = hasSharedStructures ? 128 : 0;
          if (maxSharedStructures > 8190)
            throw new Error("Maximum maxSharedStructure is 8190");
          let isSequential = options.sequential;
          if (isSequential) {
            maxSharedStructures = 0;
          }
          if (!this.structures)
            this.structures = [];
          if (this.saveStructures)
            this.saveShared = this.saveStructures;
          let samplingPackedValues, packedObjectMap2, sharedValues = options.sharedValues;
          let sharedPackedObjectMap2;
          if (sharedValues) {
            sharedPackedObjectMap2 = /* @__PURE__ */ Object.create(null);
            for (let i = 0, l = sharedValues.length; i < l; i++) {
              sharedPackedObjectMap2[sharedValues[i]] = i;
            }
          }
          let recordIdsToRemove = [];
          let transitionsCount = 0;
          let serializationsSinceTransitionRebuild = 0;
          this.mapEncode = function(value, encodeOptions) {
            if (this._keyMap && !this._mapped) {
              switch (value.constructor.name) {
                case "Array":
                  value = value.map((r) => this.encodeKeys(r));
                  break;
              }
            }
            return this.encode(value, encodeOptions);
          };
          this.encode = function(value, encodeOptions) {
            if (!target) {
              target = new ByteArrayAllocate(8192);
              targetView = new DataView(target.buffer, 0, 8192);
              position = 0;
            }
            safeEnd = target.length - 10;
            if (safeEnd - position < 2048) {
              target = new ByteArrayAllocate(target.length);
              targetView = new DataView(target.buffer, 0, target.length);
              safeEnd = target.length - 10;
              position = 0;
            } else if (encodeOptions === REUSE_BUFFER_MODE)
              position = position + 7 & 2147483640;
            start = position;
            if (encoder.useSelfDescribedHeader) {
              targetView.setUint32(position, 3654940416);
              position += 3;
            }
            referenceMap2 = encoder.structuredClone ? /* @__PURE__ */ new Map() : null;
            if (encoder.bundleStrings && typeof value !== "string") {
              bundledStrings = [];
              bundledStrings.size = Infinity;
            } else
              bundledStrings = null;
            sharedStructures = encoder.structures;
            if (sharedStructures) {
              if (sharedStructures.uninitialized) {
                let sharedData = encoder.getShared() || {};
                encoder.structures = sharedStructures = sharedData.structures || [];
                encoder.sharedVersion = sharedData.version;
                let sharedValues2 = encoder.sharedValues = sharedData.packedValues;
                if (sharedValues2) {
                  sharedPackedObjectMap2 = {};
                  for (let i = 0, l = sharedValues2.length; i < l; i++)
                    sharedPackedObjectMap2[sharedValues2[i]] = i;
                }
              }
              let sharedStructuresLength = sharedStructures.length;
              if (sharedStructuresLength > maxSharedStructures && !isSequential)
                sharedStructuresLength = maxSharedStructures;
              if (!sharedStructures.transitions) {
                sharedStructures.transitions = /* @__PURE__ */ Object.create(null);
                for (let i = 0; i < sharedStructuresLength; i++) {
                  let keys3 = sharedStructures[i];
                  if (!keys3)
                    continue;
                  let nextTransition, transition = sharedStructures.transitions;
                  for (let j = 0, l = keys3.length; j < l; j++) {
                    if (transition[RECORD_SYMBOL] === void 0)
                      transition[RECORD_SYMBOL] = i;
                    let key = keys3[j];
                    nextTransition = transition[key];
                    if (!nextTransition) {
                      nextTransition = transition[key] = /* @__PURE__ */ Object.create(null);
                    }
                    transition = nextTransition;
                  }
                  transition[RECORD_SYMBOL] = i | 1048576;
                }
              }
              if (!isSequential)
                sharedStructures.nextId = sharedStructuresLength;
            }
            if (hasSharedUpdate)
              hasSharedUpdate = false;
            structures = sharedStructures || [];
            packedObjectMap2 = sharedPackedObjectMap2;
            if (options.pack) {
              let packedValues2 = /* @__PURE__ */ new Map();
              packedValues2.values = [];
              packedValues2.encoder = encoder;
              packedValues2.maxValues = options.maxPrivatePackedValues || (sharedPackedObjectMap2 ? 16 : Infinity);
              packedValues2.objectMap = sharedPackedObjectMap2 || false;
              packedValues2.samplingPackedValues = samplingPackedValues;
              findRepetitiveStrings(value, packedValues2);
              if (packedValues2.values.length > 0) {
                target[position++] = 216;
                target[position++] = 51;
                writeArrayHeader(4);
                let valuesArray = packedValues2.values;
                encode3(valuesArray);
                writeArrayHeader(0);
                writeArrayHeader(0);
                packedObjectMap2 = Object.create(sharedPackedObjectMap2 || null);
                for (let i = 0, l = valuesArray.length; i < l; i++) {
                  packedObjectMap2[valuesArray[i]] = i;
                }
              }
            }
            throwOnIterable = encodeOptions & THROW_ON_ITERABLE;
            try {
              if (throwOnIterable)
                return;
              encode3(value);
              if (bundledStrings && bundledStrings.position) {
                writeBundles(start, encode3);
              }
              encoder.offset = position;
              if (referenceMap2 && referenceMap2.idsToInsert) {
                position += referenceMap2.idsToInsert.length * 2;
                if (position > safeEnd)
                  makeRoom(position);
                encoder.offset = position;
                let serialized = insertIds(target.subarray(start, position), referenceMap2.idsToInsert);
                referenceMap2 = null;
                return serialized;
              }
              if (encodeOptions & REUSE_BUFFER_MODE) {
                target.start = start;
                target.end = position;
                return target;
              }
              return target.subarray(start, position);
            } finally {
              if (sharedStructures) {
                if (serializationsSinceTransitionRebuild < 10)
                  serializationsSinceTransitionRebuild++;
                if (sharedStructures.length > maxSharedStructures)
                  sharedStructures.length = maxSharedStructures;
                if (transitionsCount > 1e4) {
                  sharedStructures.transitions = null;
                  serializationsSinceTransitionRebuild = 0;
                  transitionsCount = 0;
                  if (recordIdsToRemove.length > 0)
                    recordIdsToRemove = [];
                } else if (recordIdsToRemove.length > 0 && !isSequential) {
                  for (let i = 0, l = recordIdsToRemove.length; i < l; i++) {
                    recordIdsToRemove[i][RECORD_SYMBOL] = void 0;
                  }
                  recordIdsToRemove = [];
                }
              }
              if (hasSharedUpdate && encoder.saveShared) {
                if (encoder.structures.length > maxSharedStructures) {
                  encoder.structures = encoder.structures.slice(0, maxSharedStructures);
                }
                let returnBuffer = target.subarray(start, position);
                if (encoder.updateSharedData() === false)
                  return encoder.encode(value);
                return returnBuffer;
              }
              if (encodeOptions & RESET_BUFFER_MODE)
                position = start;
            }
          };
          this.findCommonStringsToPack = () => {
            samplingPackedValues = /* @__PURE__ */ new Map();
            if (!sharedPackedObjectMap2)
              sharedPackedObjectMap2 = /* @__PURE__ */ Object.create(null);
            return (options2) => {
              let threshold = options2 && options2.threshold || 4;
              let position2 = this.pack ? options2.maxPrivatePackedValues || 16 : 0;
              if (!sharedValues)
                sharedValues = this.sharedValues = [];
              for (let [key, status] of samplingPackedValues) {
                if (status.count > threshold) {
                  sharedPackedObjectMap2[key] = position2++;
                  sharedValues.push(key);
                  hasSharedUpdate = true;
                }
              }
              while (this.saveShared && this.updateSharedData() === false) {
              }
              samplingPackedValues = null;
            };
          };
          const encode3 = (value) => {
            if (position > safeEnd)
              target = makeRoom(position);
            var type = typeof value;
            var length;
            if (type === "string") {
              if (packedObjectMap2) {
                let packedPosition = packedObjectMap2[value];
                if (packedPosition >= 0) {
                  if (packedPosition < 16)
                    target[position++] = packedPosition + 224;
                  else {
                    target[position++] = 198;
                    if (packedPosition & 1)
                      encode3(15 - packedPosition >> 1);
                    else
                      encode3(packedPosition - 16 >> 1);
                  }
                  return;
                } else if (samplingPackedValues && !options.pack) {
                  let status = samplingPackedValues.get(value);
                  if (status)
                    status.count++;
                  else
                    samplingPackedValues.set(value, {
                      count: 1
                    });
                }
              }
              let strLength = value.length;
              if (bundledStrings && strLength >= 4 && strLength < 1024) {
                if ((bundledStrings.size += strLength) > MAX_BUNDLE_SIZE) {
                  let extStart;
                  let maxBytes2 = (bundledStrings[0] ? bundledStrings[0].length * 3 + bundledStrings[1].length : 0) + 10;
                  if (position + maxBytes2 > safeEnd)
                    target = makeRoom(position + maxBytes2);
                  target[position++] = 217;
                  target[position++] = 223;
                  target[position++] = 249;
                  target[position++] = bundledStrings.position ? 132 : 130;
                  target[position++] = 26;
                  extStart = position - start;
                  position += 4;
                  if (bundledStrings.position) {
                    writeBundles(start, encode3);
                  }
                  bundledStrings = ["", ""];
                  bundledStrings.size = 0;
                  bundledStrings.position = extStart;
                }
                let twoByte = hasNonLatin.test(value);
                bundledStrings[twoByte ? 0 : 1] += value;
                target[position++] = twoByte ? 206 : 207;
                encode3(strLength);
                return;
              }
              let headerSize;
              if (strLength < 32) {
                headerSize = 1;
              } else if (strLength < 256) {
                headerSize = 2;
              } else if (strLength < 65536) {
                headerSize = 3;
              } else {
                headerSize = 5;
              }
              let maxBytes = strLength * 3;
              if (position + maxBytes > safeEnd)
                target = makeRoom(position + maxBytes);
              if (strLength < 64 || !encodeUtf8) {
                let i, c1, c2, strPosition = position + headerSize;
                for (i = 0; i < strLength; i++) {
                  c1 = value.charCodeAt(i);
                  if (c1 < 128) {
                    target[strPosition++] = c1;
                  } else if (c1 < 2048) {
                    target[strPosition++] = c1 >> 6 | 192;
                    target[strPosition++] = c1 & 63 | 128;
                  } else if ((c1 & 64512) === 55296 && ((c2 = value.charCodeAt(i + 1)) & 64512) === 56320) {
                    c1 = 65536 + ((c1 & 1023) << 10) + (c2 & 1023);
                    i++;
                    target[strPosition++] = c1 >> 18 | 240;
                    target[strPosition++] = c1 >> 12 & 63 | 128;
                    target[strPosition++] = c1 >> 6 & 63 | 128;
                    target[strPosition++] = c1 & 63 | 128;
                  } else {
                    target[strPosition++] = c1 >> 12 | 224;
                    target[strPosition++] = c1 >> 6 & 63 | 128;
                    target[strPosition++] = c1 & 63 | 128;
                  }
                }
                length = strPosition - position - headerSize;
              } else {
                length = encodeUtf8(value, position + headerSize, maxBytes);
              }
              if (length < 24) {
                target[position++] = 96 | length;
              } else if (length < 256) {
                if (headerSize < 2) {
                  target.copyWithin(position + 2, position + 1, position + 1 + length);
                }
                target[position++] = 120;
                target[position++] = length;
              } else if (length < 65536) {
                if (headerSize < 3) {
                  target.copyWithin(position + 3, position + 2, position + 2 + length);
                }
                target[position++] = 121;
                target[position++] = length >> 8;
                target[position++] = length & 255;
              } else {
                if (headerSize < 5) {
                  target.copyWithin(position + 5, position + 3, position + 3 + length);
                }
                target[position++] = 122;
                targetView.setUint32(position, length);
                position += 4;
              }
              position += length;
            } else if (type === "number") {
              if (!this.alwaysUseFloat && value >>> 0 === value) {
                if (value < 24) {
                  target[position++] = value;
                } else if (value < 256) {
                  target[position++] = 24;
                  target[position++] = value;
                } else if (value < 65536) {
                  target[position++] = 25;
                  target[position++] = value >> 8;
                  target[position++] = value & 255;
                } else {
                  target[position++] = 26;
                  targetView.setUint32(position, value);
                  position += 4;
                }
              } else if (!this.alwaysUseFloat && value >> 0 === value) {
                if (value >= -24) {
                  target[position++] = 31 - value;
                } else if (value >= -256) {
                  target[position++] = 56;
                  target[position++] = ~value;
                } else if (value >= -65536) {
                  target[position++] = 57;
                  targetView.setUint16(position, ~value);
                  position += 2;
                } else {
                  target[position++] = 58;
                  targetView.setUint32(position, ~value);
                  position += 4;
                }
              } else if (!this.alwaysUseFloat && value < 0 && value >= -4294967296 && Math.floor(value) === value) {
                target[position++] = 58;
                targetView.setUint32(position, -1 - value);
                position += 4;
              } else {
                let useFloat32;
                if ((useFloat32 = this.useFloat32) > 0 && value < 4294967296 && value >= -2147483648) {
                  target[position++] = 250;
                  targetView.setFloat32(position, value);
                  let xShifted;
                  if (useFloat32 < 4 || // this checks for rounding of numbers that were encoded in 32-bit float to nearest significant decimal digit that could be preserved
                  (xShifted = value * mult10[(target[position] & 127) << 1 | target[position + 1] >> 7]) >> 0 === xShifted) {
                    position += 4;
                    return;
                  } else
                    position--;
                }
                target[position++] = 251;
                targetView.setFloat64(position, value);
                position += 8;
              }
            } else if (type === "object") {
              if (!value)
                target[position++] = 246;
              else {
                if (referenceMap2) {
                  let referee = referenceMap2.get(value);
                  if (referee) {
                    target[position++] = 216;
                    target[position++] = 29;
                    target[position++] = 25;
                    if (!referee.references) {
                      let idsToInsert = referenceMap2.idsToInsert || (referenceMap2.idsToInsert = []);
                      referee.references = [];
                      idsToInsert.push(referee);
                    }
                    referee.references.push(position - start);
                    position += 2;
                    return;
                  } else
                    referenceMap2.set(value, { offset: position - start });
                }
                let constructor = value.constructor;
                if (constructor === Object) {
                  if (this.skipFunction === true) {
                    value = Object.fromEntries([...Object.keys(value).filter((x) => typeof value[x] !== "function").map((x) => [x, value[x]])]);
                  }
                  writeObject(value);
                } else if (constructor === Array) {
                  length = value.length;
                  if (length < 24) {
                    target[position++] = 128 | length;
                  } else {
                    writeArrayHeader(length);
                  }
                  for (let i = 0; i < length; i++) {
                    encode3(value[i]);
                  }
                } else if (constructor === Map) {
                  if (this.mapsAsObjects ? this.useTag259ForMaps !== false : this.useTag259ForMaps) {
                    target[position++] = 217;
                    target[position++] = 1;
                    target[position++] = 3;
                  }
                  length = value.size;
                  if (length < 24) {
                    target[position++] = 160 | length;
                  } else if (length < 256) {
                    target[position++] = 184;
                    target[position++] = length;
                  } else if (length < 65536) {
                    target[position++] = 185;
                    target[position++] = length >> 8;
                    target[position++] = length & 255;
                  } else {
                    target[position++] = 186;
                    targetView.setUint32(position, length);
                    position += 4;
                  }
                  if (encoder.keyMap) {
                    for (let [key, entryValue] of value) {
                      encode3(encoder.encodeKey(key));
                      encode3(entryValue);
                    }
                  } else {
                    for (let [key, entryValue] of value) {
                      encode3(key);
                      encode3(entryValue);
                    }
                  }
                } else {
                  for (let i = 0, l = extensions.length; i < l; i++) {
                    let extensionClass = extensionClasses[i];
                    if (value instanceof extensionClass) {
                      let extension = extensions[i];
                      let tag = extension.tag;
                      if (tag == void 0)
                        tag = extension.getTag && extension.getTag.call(this, value);
                      if (tag < 24) {
                        target[position++] = 192 | tag;
                      } else if (tag < 256) {
                        target[position++] = 216;
                        target[position++] = tag;
                      } else if (tag < 65536) {
                        target[position++] = 217;
                        target[position++] = tag >> 8;
                        target[position++] = tag & 255;
                      } else if (tag > -1) {
                        target[position++] = 218;
                        targetView.setUint32(position, tag);
                        position += 4;
                      }
                      extension.encode.call(this, value, encode3, makeRoom);
                      return;
                    }
                  }
                  if (value[Symbol.iterator]) {
                    if (throwOnIterable) {
                      let error = new Error("Iterable should be serialized as iterator");
                      error.iteratorNotHandled = true;
                      throw error;
                    }
                    target[position++] = 159;
                    for (let entry of value) {
                      encode3(entry);
                    }
                    target[position++] = 255;
                    return;
                  }
                  if (value[Symbol.asyncIterator] || isBlob(value)) {
                    let error = new Error("Iterable/blob should be serialized as iterator");
                    error.iteratorNotHandled = true;
                    throw error;
                  }
                  if (this.useToJSON && value.toJSON) {
                    const json = value.toJSON();
                    if (json !== value)
                      return encode3(json);
                  }
                  if (constructor === DataView) {
                    writeBuffer(new Uint8Array(value.buffer, value.byteOffset, value.byteLength), makeRoom);
                    return;
                  }
                  writeObject(value);
                }
              }
            } else if (type === "boolean") {
              target[position++] = value ? 245 : 244;
            } else if (type === "bigint") {
              if (value < BigInt(1) << BigInt(64) && value >= 0) {
                target[position++] = 27;
                targetView.setBigUint64(position, value);
              } else if (value > -(BigInt(1) << BigInt(64)) && value < 0) {
                target[position++] = 59;
                targetView.setBigUint64(position, -value - BigInt(1));
              } else {
                if (this.largeBigIntToFloat) {
                  target[position++] = 251;
                  targetView.setFloat64(position, Number(value));
                } else {
                  if (value >= BigInt(0))
                    target[position++] = 194;
                  else {
                    target[position++] = 195;
                    value = BigInt(-1) - value;
                  }
                  let bytes = [];
                  while (value) {
                    bytes.push(Number(value & BigInt(255)));
                    value >>= BigInt(8);
                  }
                  writeBuffer(new Uint8Array(bytes.reverse()), makeRoom);
                  return;
                }
              }
              position += 8;
            } else if (type === "undefined") {
              target[position++] = 247;
            } else {
              throw new Error("Unknown type: " + type);
            }
          };
          const writeObject = this.useRecords === false ? this.variableMapSize ? (object) => {
            let keys3 = Object.keys(object);
            let vals = Object.values(object);
            let length = keys3.length;
            if (length < 24) {
              target[position++] = 160 | length;
            } else if (length < 256) {
              target[position++] = 184;
              target[position++] = length;
            } else if (length < 65536) {
              target[position++] = 185;
              target[position++] = length >> 8;
              target[position++] = length & 255;
            } else {
              target[position++] = 186;
              targetView.setUint32(position, length);
              position += 4;
            }
            if (encoder.keyMap) {
              for (let i = 0; i < length; i++) {
                encode3(encoder.encodeKey(keys3[i]));
                encode3(vals[i]);
              }
            } else {
              for (let i = 0; i < length; i++) {
                encode3(keys3[i]);
                encode3(vals[i]);
              }
            }
          } : (object) => {
            target[position++] = 185;
            let objectOffset = position - start;
            position += 2;
            let size = 0;
            if (encoder.keyMap) {
              for (let key in object) if (typeof object.hasOwnProperty !== "function" || object.hasOwnProperty(key)) {
                encode3(encoder.encodeKey(key));
                encode3(object[key]);
                size++;
              }
            } else {
              for (let key in object) if (typeof object.hasOwnProperty !== "function" || object.hasOwnProperty(key)) {
                encode3(key);
                encode3(object[key]);
                size++;
              }
            }
            if (size < 65536) {
              target[objectOffset++ + start] = size >> 8;
              target[objectOffset + start] = size & 255;
            } else {
              if (position + 2 > safeEnd)
                makeRoom(position + 2);
              let headerPosition = objectOffset + start;
              target.copyWithin(headerPosition + 4, headerPosition + 2, position);
              position += 2;
              target[headerPosition - 1] = 186;
              targetView.setUint32(headerPosition, size);
            }
          } : (object, skipValues) => {
            let nextTransition, transition = structures.transitions || (structures.transitions = /* @__PURE__ */ Object.create(null));
            let newTransitions = 0;
            let length = 0;
            let parentRecordId;
            let keys3;
            if (this.keyMap) {
              keys3 = Object.keys(object).map((k) => this.encodeKey(k));
              length = keys3.length;
              for (let i = 0; i < length; i++) {
                let key = keys3[i];
                nextTransition = transition[key];
                if (!nextTransition) {
                  nextTransition = transition[key] = /* @__PURE__ */ Object.create(null);
                  newTransitions++;
                }
                transition = nextTransition;
              }
            } else {
              for (let key in object) if (typeof object.hasOwnProperty !== "function" || object.hasOwnProperty(key)) {
                nextTransition = transition[key];
                if (!nextTransition) {
                  if (transition[RECORD_SYMBOL] & 1048576) {
                    parentRecordId = transition[RECORD_SYMBOL] & 65535;
                  }
                  nextTransition = transition[key] = /* @__PURE__ */ Object.create(null);
                  newTransitions++;
                }
                transition = nextTransition;
                length++;
              }
            }
            let recordId = transition[RECORD_SYMBOL];
            if (recordId !== void 0) {
              recordId &= 65535;
              target[position++] = 217;
              target[position++] = recordId >> 8 | 224;
              target[position++] = recordId & 255;
            } else {
              if (!keys3)
                keys3 = transition.__keys__ || (transition.__keys__ = Object.keys(object));
              if (parentRecordId === void 0) {
                recordId = structures.nextId++;
                if (!recordId) {
                  recordId = 0;
                  structures.nextId = 1;
                }
                if (recordId >= MAX_STRUCTURES) {
                  structures.nextId = (recordId = maxSharedStructures) + 1;
                }
              } else {
                recordId = parentRecordId;
              }
              structures[recordId] = keys3;
              if (recordId < maxSharedStructures) {
                target[position++] = 217;
                target[position++] = recordId >> 8 | 224;
                target[position++] = recordId & 255;
                transition = structures.transitions;
                for (let i = 0; i < length; i++) {
                  if (transition[RECORD_SYMBOL] === void 0 || transition[RECORD_SYMBOL] & 1048576)
                    transition[RECORD_SYMBOL] = recordId;
                  transition = transition[keys3[i]];
                }
                transition[RECORD_SYMBOL] = recordId | 1048576;
                hasSharedUpdate = true;
              } else {
                transition[RECORD_SYMBOL] = recordId;
                targetView.setUint32(position, 3655335680);
                position += 3;
                if (newTransitions)
                  transitionsCount += serializationsSinceTransitionRebuild * newTransitions;
                if (recordIdsToRemove.length >= MAX_STRUCTURES - maxSharedStructures)
                  recordIdsToRemove.shift()[RECORD_SYMBOL] = void 0;
                recordIdsToRemove.push(transition);
                writeArrayHeader(length + 2);
                encode3(57344 + recordId);
                encode3(keys3);
                if (skipValues) return;
                for (let key in object)
                  if (typeof object.hasOwnProperty !== "function" || object.hasOwnProperty(key))
                    encode3(object[key]);
                return;
              }
            }
            if (length < 24) {
              target[position++] = 128 | length;
            } else {
              writeArrayHeader(length);
            }
            if (skipValues) return;
            for (let key in object)
              if (typeof object.hasOwnProperty !== "function" || object.hasOwnProperty(key))
                encode3(object[key]);
          };
          const makeRoom = (end2) => {
            let newSize;
            if (end2 > 16777216) {
              if (end2 - start > MAX_BUFFER_SIZE)
                throw new Error("Encoded buffer would be larger than maximum buffer size");
              newSize = Math.min(
                MAX_BUFFER_SIZE,
                Math.round(Math.max((end2 - start) * (end2 > 67108864 ? 1.25 : 2), 4194304) / 4096) * 4096
              );
            } else
              newSize = (Math.max(end2 - start << 2, target.length - 1) >> 12) + 1 << 12;
            let newBuffer = new ByteArrayAllocate(newSize);
            targetView = new DataView(newBuffer.buffer, 0, newSize);
            if (target.copy)
              target.copy(newBuffer, 0, start, end2);
            else
              newBuffer.set(target.slice(start, end2));
            position -= start;
            start = 0;
            safeEnd = newBuffer.length - 10;
            return target = newBuffer;
          };
          let chunkThreshold = 100;
          let continuedChunkThreshold = 1e3;
          this.encodeAsIterable = function(value, options2) {
            return startEncoding(value, options2, encodeObjectAsIterable);
          };
          this.encodeAsAsyncIterable = function(value, options2) {
            return startEncoding(value, options2, encodeObjectAsAsyncIterable);
          };
          function* encodeObjectAsIterable(object, iterateProperties, finalIterable) {
            let constructor = object.constructor;
            if (constructor === Object) {
              let useRecords = encoder.useRecords !== false;
              if (useRecords)
                writeObject(object, true);
              else
                writeEntityLength(Object.keys(object).length, 160);
              for (let key in object) {
                let value = object[key];
                if (!useRecords) encode3(key);
                if (value && typeof value === "object") {
                  if (iterateProperties[key])
                    yield* encodeObjectAsIterable(value, iterateProperties[key]);
                  else
                    yield* tryEncode(value, iterateProperties, key);
                } else encode3(value);
              }
            } else if (constructor === Array) {
              let length = object.length;
              writeArrayHeader(length);
              for (let i = 0; i < length; i++) {
                let value = object[i];
                if (value && (typeof value === "object" || position - start > chunkThreshold)) {
                  if (iterateProperties.element)
                    yield* encodeObjectAsIterable(value, iterateProperties.element);
                  else
                    yield* tryEncode(value, iterateProperties, "element");
                } else encode3(value);
              }
            } else if (object[Symbol.iterator] && !object.buffer) {
              target[position++] = 159;
              for (let value of object) {
                if (value && (typeof value === "object" || position - start > chunkThreshold)) {
                  if (iterateProperties.element)
                    yield* encodeObjectAsIterable(value, iterateProperties.element);
                  else
                    yield* tryEncode(value, iterateProperties, "element");
                } else encode3(value);
              }
              target[position++] = 255;
            } else if (isBlob(object)) {
              writeEntityLength(object.size, 64);
              yield target.subarray(start, position);
              yield object;
              restartEncoding();
            } else if (object[Symbol.asyncIterator]) {
              target[position++] = 159;
              yield target.subarray(start, position);
              yield object;
              restartEncoding();
              target[position++] = 255;
            } else {
              encode3(object);
            }
            if (finalIterable && position > start) yield target.subarray(start, position);
            else if (position - start > chunkThreshold) {
              yield target.subarray(start, position);
              restartEncoding();
            }
          }
          function* tryEncode(value, iterateProperties, key) {
            let restart = position - start;
            try {
              encode3(value);
              if (position - start > chunkThreshold) {
                yield target.subarray(start, position);
                restartEncoding();
              }
            } catch (error) {
              if (error.iteratorNotHandled) {
                iterateProperties[key] = {};
                position = start + restart;
                yield* encodeObjectAsIterable.call(this, value, iterateProperties[key]);
              } else throw error;
            }
          }
          function restartEncoding() {
            chunkThreshold = continuedChunkThreshold;
            encoder.encode(null, THROW_ON_ITERABLE);
          }
          function startEncoding(value, options2, encodeIterable) {
            if (options2 && options2.chunkThreshold)
              chunkThreshold = continuedChunkThreshold = options2.chunkThreshold;
            else
              chunkThreshold = 100;
            if (value && typeof value === "object") {
              encoder.encode(null, THROW_ON_ITERABLE);
              return encodeIterable(value, encoder.iterateProperties || (encoder.iterateProperties = {}), true);
            }
            return [encoder.encode(value)];
          }
          async function* encodeObjectAsAsyncIterable(value, iterateProperties) {
            for (let encodedValue of encodeObjectAsIterable(value, iterateProperties, true)) {
              let constructor = encodedValue.constructor;
              if (constructor === ByteArray || constructor === Uint8Array)
                yield encodedValue;
              else if (isBlob(encodedValue)) {
                let reader = encodedValue.stream().getReader();
                let next;
                while (!(next = await reader.read()).done) {
                  yield next.value;
                }
              } else if (encodedValue[Symbol.asyncIterator]) {
                for await (let asyncValue of encodedValue) {
                  restartEncoding();
                  if (asyncValue)
                    yield* encodeObjectAsAsyncIterable(asyncValue, iterateProperties.async || (iterateProperties.async = {}));
                  else yield encoder.encode(asyncValue);
                }
              } else {
                yield encodedValue;
              }
            }
          }
        }
        useBuffer(buffer) {
          target = buffer;
          targetView = new DataView(target.buffer, target.byteOffset, target.byteLength);
          position = 0;
        }
        clearSharedData() {
          if (this.structures)
            this.structures = [];
          if (this.sharedValues)
            this.sharedValues = void 0;
        }
        updateSharedData() {
          let lastVersion = this.sharedVersion || 0;
          this.sharedVersion = lastVersion + 1;
          let structuresCopy = this.structures.slice(0);
          let sharedData = new SharedData(structuresCopy, this.sharedValues, this.sharedVersion);
          let saveResults = this.saveShared(
            sharedData,
            (existingShared) => (existingShared && existingShared.version || 0) == lastVersion
          );
          if (saveResults === false) {
            sharedData = this.getShared() || {};
            this.structures = sharedData.structures || [];
            this.sharedValues = sharedData.packedValues;
            this.sharedVersion = sharedData.version;
            this.structures.nextId = this.structures.length;
          } else {
            structuresCopy.forEach((structure, i) => this.structures[i] = structure);
          }
          return saveResults;
        }
      }
      function writeEntityLength(length, majorValue) {
        if (length < 24)
          target[position++] = majorValue | length;
        else if (length < 256) {
          target[position++] = majorValue | 24;
          target[position++] = length;
        } else if (length < 65536) {
          target[position++] = majorValue | 25;
          target[position++] = length >> 8;
          target[position++] = length & 255;
        } else {
          target[position++] = majorValue | 26;
          targetView.setUint32(position, length);
          position += 4;
        }
      }
      class SharedData {
        constructor(structures, values, version) {
          this.structures = structures;
          this.packedValues = values;
          this.version = version;
        }
      }
      function writeArrayHeader(length) {
        if (length < 24)
          target[position++] = 128 | length;
        else if (length < 256) {
          target[position++] = 152;
          target[position++] = length;
        } else if (length < 65536) {
          target[position++] = 153;
          target[position++] = length >> 8;
          target[position++] = length & 255;
        } else {
          target[position++] = 154;
          targetView.setUint32(position, length);
          position += 4;
        }
      }
      const BlobConstructor = typeof Blob === "undefined" ? function() {
      } : Blob;
      function isBlob(object) {
        if (object instanceof BlobConstructor)
          return true;
        let tag = object[Symbol.toStringTag];
        return tag === "Blob" || tag === "File";
      }
      function findRepetitiveStrings(value, packedValues2) {
        switch (typeof value) {
          case "string":
            if (value.length > 3) {
              if (packedValues2.objectMap[value] > -1 || packedValues2.values.length >= packedValues2.maxValues)
                return;
              let packedStatus = packedValues2.get(value);
              if (packedStatus) {
                if (++packedStatus.count == 2) {
                  packedValues2.values.push(value);
                }
              } else {
                packedValues2.set(value, {
                  count: 1
                });
                if (packedValues2.samplingPackedValues) {
                  let status = packedValues2.samplingPackedValues.get(value);
                  if (status)
                    status.count++;
                  else
                    packedValues2.samplingPackedValues.set(value, {
                      count: 1
                    });
                }
              }
            }
            break;
          case "object":
            if (value) {
              if (value instanceof Array) {
                for (let i = 0, l = value.length; i < l; i++) {
                  findRepetitiveStrings(value[i], packedValues2);
                }
              } else {
                let includeKeys = !packedValues2.encoder.useRecords;
                for (var key in value) {
                  if (value.hasOwnProperty(key)) {
                    if (includeKeys)
                      findRepetitiveStrings(key, packedValues2);
                    findRepetitiveStrings(value[key], packedValues2);
                  }
                }
              }
            }
            break;
          case "function":
        }
      }
      const isLittleEndianMachine = new Uint8Array(new Uint16Array([1]).buffer)[0] == 1;
      extensionClasses = [
        Date,
        Set,
        Error,
        RegExp,
        Tag,
        ArrayBuffer,
        Uint8Array,
        Uint8ClampedArray,
        Uint16Array,
        Uint32Array,
        typeof BigUint64Array == "undefined" ? function() {
        } : BigUint64Array,
        Int8Array,
        Int16Array,
        Int32Array,
        typeof BigInt64Array == "undefined" ? function() {
        } : BigInt64Array,
        Float32Array,
        Float64Array,
        SharedData
      ];
      extensions = [
        {
          // Date
          tag: 1,
          encode(date, encode3) {
            let seconds = date.getTime() / 1e3;
            if ((this.useTimestamp32 || date.getMilliseconds() === 0) && seconds >= 0 && seconds < 4294967296) {
              target[position++] = 26;
              targetView.setUint32(position, seconds);
              position += 4;
            } else {
              target[position++] = 251;
              targetView.setFloat64(position, seconds);
              position += 8;
            }
          }
        },
        {
          // Set
          tag: 258,
          // https://github.com/input-output-hk/cbor-sets-spec/blob/master/CBOR_SETS.md
          encode(set, encode3) {
            let array = Array.from(set);
            encode3(array);
          }
        },
        {
          // Error
          tag: 27,
          // http://cbor.schmorp.de/generic-object
          encode(error, encode3) {
            encode3([error.name, error.message]);
          }
        },
        {
          // RegExp
          tag: 27,
          // http://cbor.schmorp.de/generic-object
          encode(regex, encode3) {
            encode3(["RegExp", regex.source, regex.flags]);
          }
        },
        {
          // Tag
          getTag(tag) {
            return tag.tag;
          },
          encode(tag, encode3) {
            encode3(tag.value);
          }
        },
        {
          // ArrayBuffer
          encode(arrayBuffer, encode3, makeRoom) {
            writeBuffer(arrayBuffer, makeRoom);
          }
        },
        {
          // Uint8Array
          getTag(typedArray) {
            if (typedArray.constructor === Uint8Array) {
              if (this.tagUint8Array || hasNodeBuffer && this.tagUint8Array !== false)
                return 64;
            }
          },
          encode(typedArray, encode3, makeRoom) {
            writeBuffer(typedArray, makeRoom);
          }
        },
        typedArrayEncoder(68, 1),
        typedArrayEncoder(69, 2),
        typedArrayEncoder(70, 4),
        typedArrayEncoder(71, 8),
        typedArrayEncoder(72, 1),
        typedArrayEncoder(77, 2),
        typedArrayEncoder(78, 4),
        typedArrayEncoder(79, 8),
        typedArrayEncoder(85, 4),
        typedArrayEncoder(86, 8),
        {
          encode(sharedData, encode3) {
            let packedValues2 = sharedData.packedValues || [];
            let sharedStructures = sharedData.structures || [];
            if (packedValues2.values.length > 0) {
              target[position++] = 216;
              target[position++] = 51;
              writeArrayHeader(4);
              let valuesArray = packedValues2.values;
              encode3(valuesArray);
              writeArrayHeader(0);
              writeArrayHeader(0);
              packedObjectMap = Object.create(sharedPackedObjectMap || null);
              for (let i = 0, l = valuesArray.length; i < l; i++) {
                packedObjectMap[valuesArray[i]] = i;
              }
            }
            if (sharedStructures) {
              targetView.setUint32(position, 3655335424);
              position += 3;
              let definitions = sharedStructures.slice(0);
              definitions.unshift(57344);
              definitions.push(new Tag(sharedData.version, 1399353956));
              encode3(definitions);
            } else
              encode3(new Tag(sharedData.version, 1399353956));
          }
        }
      ];
      function typedArrayEncoder(tag, size) {
        if (!isLittleEndianMachine && size > 1)
          tag -= 4;
        return {
          tag,
          encode: function writeExtBuffer(typedArray, encode3) {
            let length = typedArray.byteLength;
            let offset = typedArray.byteOffset || 0;
            let buffer = typedArray.buffer || typedArray;
            encode3(hasNodeBuffer ? Buffer$1.from(buffer, offset, length) : new Uint8Array(buffer, offset, length));
          }
        };
      }
      function writeBuffer(buffer, makeRoom) {
        let length = buffer.byteLength;
        if (length < 24) {
          target[position++] = 64 + length;
        } else if (length < 256) {
          target[position++] = 88;
          target[position++] = length;
        } else if (length < 65536) {
          target[position++] = 89;
          target[position++] = length >> 8;
          target[position++] = length & 255;
        } else {
          target[position++] = 90;
          targetView.setUint32(position, length);
          position += 4;
        }
        if (position + length >= target.length) {
          makeRoom(position + length);
        }
        target.set(buffer.buffer ? buffer : new Uint8Array(buffer), position);
        position += length;
      }
      function insertIds(serialized, idsToInsert) {
        let nextId;
        let distanceToMove = idsToInsert.length * 2;
        let lastEnd = serialized.length - distanceToMove;
        idsToInsert.sort((a, b) => a.offset > b.offset ? 1 : -1);
        for (let id = 0; id < idsToInsert.length; id++) {
          let referee = idsToInsert[id];
          referee.id = id;
          for (let position2 of referee.references) {
            serialized[position2++] = id >> 8;
            serialized[position2] = id & 255;
          }
        }
        while (nextId = idsToInsert.pop()) {
          let offset = nextId.offset;
          serialized.copyWithin(offset + distanceToMove, offset, lastEnd);
          distanceToMove -= 2;
          let position2 = offset + distanceToMove;
          serialized[position2++] = 216;
          serialized[position2++] = 28;
          lastEnd = offset;
        }
        return serialized;
      }
      function writeBundles(start, encode3) {
        targetView.setUint32(bundledStrings.position + start, position - bundledStrings.position - start + 1);
        let writeStrings = bundledStrings;
        bundledStrings = null;
        encode3(writeStrings[0]);
        encode3(writeStrings[1]);
      }
      function addExtension(extension) {
        if (extension.Class) {
          if (!extension.encode)
            throw new Error("Extension has no encode function");
          extensionClasses.unshift(extension.Class);
          extensions.unshift(extension);
        }
        addExtension$1(extension);
      }
      let defaultEncoder = new Encoder2({ useRecords: false });
      const encode2 = defaultEncoder.encode;
      const encodeAsIterable = defaultEncoder.encodeAsIterable;
      const encodeAsAsyncIterable = defaultEncoder.encodeAsAsyncIterable;
      const { NEVER, ALWAYS, DECIMAL_ROUND, DECIMAL_FIT } = FLOAT32_OPTIONS;
      const REUSE_BUFFER_MODE = 512;
      const RESET_BUFFER_MODE = 1024;
      const THROW_ON_ITERABLE = 2048;
      class StructureScanner {
        constructor(decoder2) {
          this.decoder = decoder2;
          this.frames = [];
          this.records = /* @__PURE__ */ new Map();
          this.readers = /* @__PURE__ */ new Map();
          this.reset();
        }
        reset() {
          this.position = 0;
          this.depth = 0;
          this.neededLength = 0;
          this.postBundlePosition = 0;
          this.headers = 0;
          this.mapsAsObjects = !!this.decoder.mapsAsObjects;
          this.restoreMap = false;
          this.records.clear();
          this.readers.clear();
          this.push("items", 1);
        }
        push(kind, remaining) {
          if (this.depth === 16384) throw new RangeError("Maximum CBOR nesting depth exceeded");
          const frame = this.frames[this.depth] || (this.frames[this.depth] = {});
          frame.kind = kind;
          frame.remaining = remaining;
          frame.stage = 0;
          frame.id = void 0;
          frame.restoreMap = false;
          frame.legacy = false;
          frame.definition = void 0;
          frame.limitMajor = 0;
          frame.count = 0;
          this.depth++;
          return frame;
        }
        header(source, end2, lengthOnly = false) {
          const start = this.position;
          if (start >= end2) {
            this.neededLength = start + 1;
            return false;
          }
          const byte = source[start];
          const major = byte >> 5;
          const info = byte & 31;
          const width = info < 24 || lengthOnly && info > 26 ? 0 : info === 24 ? 1 : info === 25 ? 2 : info === 26 ? 4 : info === 27 ? 8 : 0;
          if (!lengthOnly && info >= 28 && info <= 30) throw new Error("Unknown token " + info);
          if (start + 1 + width > end2) {
            this.neededLength = start + 1 + width;
            return false;
          }
          let value = info;
          if (width) {
            value = 0;
            for (let i = start + 1; i <= start + width; i++) value = value * 256 + source[i];
            if (width === 8 && major > 1 && major !== 7 && value > 4294967295) {
              throw new Error("JavaScript does not support arrays, maps, or strings with length over 4294967295");
            }
          }
          this.major = major;
          this.info = info;
          this.argument = value;
          this.position = start + 1 + width;
          this.headers++;
          return true;
        }
        scan(source, end2) {
          while (this.depth) {
            if (this.position > end2) {
              this.neededLength = this.position;
              return false;
            }
            const frame = this.frames[this.depth - 1];
            if (frame.kind === "bundle") {
              if (frame.stage === 0) {
                if (!this.header(source, end2, true)) return false;
                frame.remaining = Math.max(0, this.argument - 2);
                frame.stage = 1;
              }
              if (frame.stage === 1) {
                const offsetStart = this.position;
                if (!this.header(source, end2)) return false;
                if (this.major > 1 || this.info === 31) throw new Error("Invalid bundled string offset");
                frame.target = offsetStart + (this.major === 1 ? -1 - this.argument : this.argument);
                if (!Number.isSafeInteger(frame.target) || frame.target < 0) throw new Error("Invalid bundled string offset");
                frame.stage = 2;
              }
              if (frame.stage === 2) {
                if (frame.remaining) {
                  if (!this.header(source, end2, true)) return false;
                  this.position += this.argument;
                  frame.remaining--;
                  continue;
                }
                frame.resume = this.position;
                this.position = frame.target;
                frame.remaining = 2;
                frame.stage = 3;
                continue;
              }
              if (frame.stage === 3) {
                if (frame.remaining) {
                  if (!this.header(source, end2, true)) return false;
                  this.position += this.argument;
                  frame.remaining--;
                  continue;
                }
                this.postBundlePosition = this.position;
                this.position = frame.resume;
                frame.kind = "items";
                frame.remaining = 1;
                continue;
              }
            }
            if (frame.kind === "record") {
              if (!this.header(source, end2, true)) return false;
              if (this.info > 26) throw new Error("Expected array header, but got " + source[this.position - 1]);
              frame.kind = "items";
              frame.remaining = this.argument;
              const reader = frame.reader;
              if (reader.compiled.has(this.argument)) frame.remaining = Math.min(this.argument, reader.length);
              else if (reader.slowReads++ >= _stream.readThreshold) {
                reader.compiled.add(this.argument);
                frame.remaining = Math.min(this.argument, reader.length);
              }
              continue;
            }
            if (frame.kind === "definition" && frame.stage === 0) {
              const start = this.position;
              if (!this.header(source, end2, !frame.legacy)) return false;
              if (frame.legacy && this.major !== 4) {
                this.position = start;
                this.headers--;
                frame.kind = "items";
                frame.remaining = 1;
                continue;
              }
              frame.remaining = frame.legacy ? this.info === 31 ? -1 : this.argument : Math.max(2, this.argument);
              if (frame.legacy) {
                if (frame.remaining >= 0) _stream.checkContainer(4, frame.remaining);
                else frame.limitMajor = 4;
                frame.index = 0;
              }
              frame.total = frame.remaining;
              frame.stage = 1;
              continue;
            }
            if (frame.remaining === 0) {
              if (frame.definition) this.records.set(frame.id - 57344, frame.definition);
              if (frame.restoreMap && this.restoreMap) {
                this.mapsAsObjects = true;
                this.restoreMap = false;
              }
              this.depth--;
              continue;
            }
            if (!this.header(source, end2)) return false;
            let { major, argument, info } = this;
            if (frame.kind === "definition") {
              const index = frame.legacy ? frame.index++ : frame.total - frame.remaining;
              if (index === 0 && major === 0) frame.id = argument;
              if ((frame.multiple ? index >= 1 && index < frame.total - 1 : index === 1) && major === 4 && info !== 31 && frame.id !== void 0) {
                const definition = { length: argument, slowReads: 0, compiled: /* @__PURE__ */ new Set() };
                if (frame.legacy) frame.definition = definition;
                else this.records.set(frame.id - 57344 + (frame.multiple ? index - 1 : 0), definition);
              }
            }
            if (major === 7 && info === 31 && (frame.remaining === -1 || frame.remaining === -2)) {
              if (frame.definition) this.records.set(frame.id - 57344, frame.definition);
              this.depth--;
              continue;
            }
            if (frame.limitMajor && (frame.remaining === -1 || frame.remaining === -2)) {
              _stream.checkContainer(frame.limitMajor, ++frame.count, frame.mapsAsObjects);
            }
            if (frame.remaining > 0) frame.remaining--;
            else if (frame.remaining === -2) frame.remaining = -3;
            else if (frame.remaining === -3) frame.remaining = -2;
            if (info === 31) {
              if (major === 2 || major === 3) throw new Error("Indefinite length not supported for byte or text strings");
              if (major === 4 || major === 5) {
                const container = this.push("items", major === 4 ? -1 : -2);
                container.limitMajor = major;
                container.mapsAsObjects = this.mapsAsObjects;
                if (major === 5 && this.restoreMap) {
                  this.mapsAsObjects = true;
                  this.restoreMap = false;
                }
              } else if (major === 7) throw new Error("Unexpected break stop code outside of an indefinite-length item");
              else throw new Error("Invalid major type for indefinite length " + major);
              continue;
            }
            switch (major) {
              case 2:
              case 3:
                this.position += argument;
                break;
              case 4:
              case 5:
                _stream.checkContainer(major, argument, this.mapsAsObjects);
                if (major === 5 && this.restoreMap) {
                  this.mapsAsObjects = true;
                  this.restoreMap = false;
                }
                if (argument) this.push("items", major === 5 ? argument * 2 : argument);
                break;
              case 6: {
                const structure = _stream.getTag(argument, this.decoder);
                let reader = this.records.get(argument & 8191);
                if (argument >= 57337 && (structure || reader)) {
                  if (!reader) {
                    reader = this.readers.get(structure);
                    if (!reader) {
                      reader = { length: structure.length, slowReads: structure.slowReads || 0, compiled: /* @__PURE__ */ new Set() };
                      for (let compiled = structure.compiledReader; compiled; compiled = compiled.next) reader.compiled.add(compiled.propertyCount);
                      this.readers.set(structure, reader);
                    }
                  }
                  this.push("record").reader = reader;
                } else if (argument === 57337) {
                  this.push("bundle");
                } else if (argument === 57343 || argument === 57342) {
                  this.push("definition").multiple = argument === 57342;
                } else if (argument === 259 && _stream.isBuiltinTag(argument) && this.mapsAsObjects) {
                  this.push("items", 1).restoreMap = true;
                  this.mapsAsObjects = false;
                  this.restoreMap = true;
                } else if (argument === 105 && _stream.isBuiltinTag(argument)) {
                  const definition = this.push("definition");
                  definition.multiple = false;
                  definition.legacy = true;
                } else {
                  this.push("items", 1);
                }
                break;
              }
            }
          }
          if (this.postBundlePosition) {
            if (this.position >= this.postBundlePosition) throw new Error("Unexpected bundle position");
            this.position = this.postBundlePosition;
          }
          if (this.frames.length > 256) this.frames.length = 256;
          return true;
        }
      }
      function encodeIter(objectIterator, options = {}) {
        if (!objectIterator || typeof objectIterator !== "object") {
          throw new Error("first argument must be an Iterable, Async Iterable, or a Promise for an Async Iterable");
        } else if (typeof objectIterator[Symbol.iterator] === "function") {
          return encodeIterSync(objectIterator, options);
        } else if (typeof objectIterator.then === "function" || typeof objectIterator[Symbol.asyncIterator] === "function") {
          return encodeIterAsync(objectIterator, options);
        } else {
          throw new Error("first argument must be an Iterable, Async Iterable, Iterator, Async Iterator, or a Promise");
        }
      }
      function* encodeIterSync(objectIterator, options) {
        const encoder = new Encoder2(options);
        for (const value of objectIterator) {
          yield encoder.encode(value);
        }
      }
      async function* encodeIterAsync(objectIterator, options) {
        const encoder = new Encoder2(options);
        for await (const value of objectIterator) {
          yield encoder.encode(value);
        }
      }
      function decodeIter(bufferIterator, options = {}) {
        if (!bufferIterator || typeof bufferIterator !== "object") {
          throw new Error("first argument must be an Iterable, Async Iterable, Iterator, Async Iterator, or a promise");
        }
        const decoder2 = new Decoder(options);
        const chunkDecoder = new ChunkDecoder(decoder2, options.maxIncompleteBufferSize);
        let fatalError2;
        const parser = (chunk) => {
          try {
            return chunkDecoder.buffer ? chunkDecoder.decodeAfterIncomplete(chunk) : decoder2.decodeMultiple(chunk);
          } catch (error) {
            fatalError2 = chunkDecoder.keepIncomplete(error, chunk);
            return error && error.values || [];
          }
        };
        if (typeof bufferIterator[Symbol.iterator] === "function") {
          return (function* iter() {
            for (const value of bufferIterator) {
              yield* parser(value);
              if (fatalError2) throw fatalError2;
            }
            const endError = chunkDecoder.end();
            if (endError) throw endError;
          })();
        } else if (typeof bufferIterator[Symbol.asyncIterator] === "function") {
          return (async function* iter() {
            for await (const value of bufferIterator) {
              yield* parser(value);
              if (fatalError2) throw fatalError2;
            }
            const endError = chunkDecoder.end();
            if (endError) throw endError;
          })();
        }
      }
      class ChunkDecoder {
        constructor(decoder2, maxIncompleteBufferSize) {
          this.decoder = decoder2;
          if (maxIncompleteBufferSize === void 0) maxIncompleteBufferSize = 67108864;
          if (typeof maxIncompleteBufferSize !== "number" || !(maxIncompleteBufferSize >= 0)) {
            throw new TypeError("maxIncompleteBufferSize must be a non-negative number");
          }
          this.maxIncompleteBufferSize = Math.floor(maxIncompleteBufferSize);
          this.buffer = null;
          this.bufferEnd = 0;
          this.appends = 0;
          this.scanner = null;
          this.scanned = false;
          this.resetScanner = false;
          this.neededLength = 0;
        }
        decodeAfterIncomplete(chunk) {
          if (!(ArrayBuffer.isView(chunk) && chunk.BYTES_PER_ELEMENT === 1)) {
            throw new TypeError("Source must be a Uint8Array or Buffer");
          }
          const length = this.bufferEnd + chunk.length;
          if (length < this.neededLength && length > this.maxIncompleteBufferSize) throw maxIncompleteBufferSizeError();
          if (length > this.buffer.length) {
            const size = this.appends < 2 ? length : Math.max(length, Math.min(length + this.bufferEnd, this.maxIncompleteBufferSize));
            const buffer = Buffer.allocUnsafe(size);
            if (size > length) buffer.fill(0, length);
            buffer.set(this.buffer.subarray(0, this.bufferEnd));
            this.buffer = buffer;
          }
          this.buffer.set(chunk, this.bufferEnd);
          this.bufferEnd = length;
          this.appends++;
          if (length < this.neededLength) return [];
          if (!this.scanner) this.scanner = new StructureScanner(this.decoder);
          if (this.resetScanner) {
            this.scanner.reset();
            this.resetScanner = false;
          }
          if (!this.scanner.scan(this.buffer, length)) {
            this.neededLength = this.scanner.neededLength;
            if (length > this.maxIncompleteBufferSize) throw maxIncompleteBufferSizeError();
            return [];
          }
          this.scanned = true;
          const values = _stream.decode(this.decoder, this.buffer.subarray(0, length), this.scanner.position);
          this.scanned = false;
          this.buffer = null;
          return values;
        }
        keepIncomplete(error, chunk) {
          if (!error) return this.fail(new Error("Decoding failed: " + error));
          if (!error.incomplete) return this.fail(error);
          if (this.scanned && error.lastPosition === 0) {
            error.incomplete = false;
            return this.fail(error);
          }
          const source = this.buffer ? this.buffer.subarray(0, this.bufferEnd) : chunk;
          const length = source.length - error.lastPosition;
          if (length > this.maxIncompleteBufferSize) return this.fail(maxIncompleteBufferSizeError());
          if (!this.buffer || error.lastPosition > 0) {
            if (length === 0) return;
            try {
              this.buffer = Buffer.from(source.subarray(error.lastPosition));
            } catch (copyError) {
              return this.fail(copyError);
            }
            this.bufferEnd = length;
            this.appends = 0;
          }
          this.scanned = false;
          this.resetScanner = true;
          this.neededLength = Math.max(length + 1, error.neededEnd ? error.neededEnd - error.lastPosition : 0);
        }
        end() {
          if (this.buffer) {
            const error = this.fail(new Error("Unexpected end of CBOR data"));
            error.incomplete = true;
            return error;
          }
        }
        fail(error) {
          this.buffer = null;
          this.scanner = null;
          this.scanned = false;
          this.resetScanner = false;
          return error;
        }
      }
      function maxIncompleteBufferSizeError() {
        return new Error("Maximum incomplete buffer size exceeded");
      }
      exports3.ALWAYS = ALWAYS;
      exports3.DECIMAL_FIT = DECIMAL_FIT;
      exports3.DECIMAL_ROUND = DECIMAL_ROUND;
      exports3.Decoder = Decoder;
      exports3.Encoder = Encoder2;
      exports3.FLOAT32_OPTIONS = FLOAT32_OPTIONS;
      exports3.NEVER = NEVER;
      exports3.REUSE_BUFFER_MODE = REUSE_BUFFER_MODE;
      exports3.Tag = Tag;
      exports3.addExtension = addExtension;
      exports3.clearSource = clearSource;
      exports3.decode = decode2;
      exports3.decodeIter = decodeIter;
      exports3.decodeMultiple = decodeMultiple;
      exports3.encode = encode2;
      exports3.encodeAsAsyncIterable = encodeAsAsyncIterable;
      exports3.encodeAsIterable = encodeAsIterable;
      exports3.encodeIter = encodeIter;
      exports3.isNativeAccelerationEnabled = isNativeAccelerationEnabled;
      exports3.roundFloat32 = roundFloat32;
      exports3.setSizeLimits = setSizeLimits;
    }));
  }
});

// node_modules/ws/lib/constants.js
var require_constants = __commonJS({
  "node_modules/ws/lib/constants.js"(exports2, module2) {
    "use strict";
    var BINARY_TYPES = ["nodebuffer", "arraybuffer", "fragments"];
    var hasBlob = typeof Blob !== "undefined";
    if (hasBlob) BINARY_TYPES.push("blob");
    module2.exports = {
      BINARY_TYPES,
      CLOSE_TIMEOUT: 3e4,
      EMPTY_BUFFER: Buffer.alloc(0),
      GUID: "258EAFA5-E914-47DA-95CA-C5AB0DC85B11",
      hasBlob,
      kForOnEventAttribute: /* @__PURE__ */ Symbol("kIsForOnEventAttribute"),
      kListener: /* @__PURE__ */ Symbol("kListener"),
      kStatusCode: /* @__PURE__ */ Symbol("status-code"),
      kWebSocket: /* @__PURE__ */ Symbol("websocket"),
      NOOP: () => {
      }
    };
  }
});

// node_modules/ws/lib/buffer-util.js
var require_buffer_util = __commonJS({
  "node_modules/ws/lib/buffer-util.js"(exports2, module2) {
    "use strict";
    var { websocketMask, websocketUnmask } = require("http");
    var { EMPTY_BUFFER } = require_constants();
    var FastBuffer = Buffer[Symbol.species];
    function concat(list2, totalLength) {
      if (list2.length === 0) return EMPTY_BUFFER;
      if (list2.length === 1) return list2[0];
      const target = Buffer.allocUnsafe(totalLength);
      let offset = 0;
      for (let i = 0; i < list2.length; i++) {
        const buf = list2[i];
        target.set(buf, offset);
        offset += buf.length;
      }
      if (offset < totalLength) {
        return new FastBuffer(target.buffer, target.byteOffset, offset);
      }
      return target;
    }
    function _mask(source, mask, output, offset, length) {
      for (let i = 0; i < length; i++) {
        output[offset + i] = source[i] ^ mask[i & 3];
      }
    }
    function _unmask(buffer, mask) {
      for (let i = 0; i < buffer.length; i++) {
        buffer[i] ^= mask[i & 3];
      }
    }
    function toArrayBuffer(buf) {
      if (buf.length === buf.buffer.byteLength) {
        return buf.buffer;
      }
      return buf.buffer.slice(buf.byteOffset, buf.byteOffset + buf.length);
    }
    function toBuffer(data) {
      toBuffer.readOnly = true;
      if (Buffer.isBuffer(data)) return data;
      let buf;
      if (data instanceof ArrayBuffer) {
        buf = new FastBuffer(data);
      } else if (ArrayBuffer.isView(data)) {
        buf = new FastBuffer(data.buffer, data.byteOffset, data.byteLength);
      } else {
        buf = Buffer.from(data);
        toBuffer.readOnly = false;
      }
      return buf;
    }
    module2.exports = {
      concat,
      mask: _mask,
      toArrayBuffer,
      toBuffer,
      unmask: _unmask
    };
    if (websocketMask) {
      module2.exports.mask = function(source, mask, output, offset, length) {
        if (length < 24) _mask(source, mask, output, offset, length);
        else websocketMask(source, mask, output, offset, length);
      };
      module2.exports.unmask = function(buffer, mask) {
        if (buffer.length < 24) _unmask(buffer, mask);
        else websocketUnmask(buffer, mask);
      };
    } else if (false) {
      try {
        const bufferUtil = null;
        module2.exports.mask = function(source, mask, output, offset, length) {
          if (length < 48) _mask(source, mask, output, offset, length);
          else bufferUtil.mask(source, mask, output, offset, length);
        };
        module2.exports.unmask = function(buffer, mask) {
          if (buffer.length < 32) _unmask(buffer, mask);
          else bufferUtil.unmask(buffer, mask);
        };
      } catch (e) {
      }
    }
  }
});

// node_modules/ws/lib/limiter.js
var require_limiter = __commonJS({
  "node_modules/ws/lib/limiter.js"(exports2, module2) {
    "use strict";
    var kDone = /* @__PURE__ */ Symbol("kDone");
    var kRun = /* @__PURE__ */ Symbol("kRun");
    var Limiter = class {
      /**
       * Creates a new `Limiter`.
       *
       * @param {Number} [concurrency=Infinity] The maximum number of jobs allowed
       *     to run concurrently
       */
      constructor(concurrency) {
        this[kDone] = () => {
          this.pending--;
          this[kRun]();
        };
        this.concurrency = concurrency || Infinity;
        this.jobs = [];
        this.pending = 0;
      }
      /**
       * Adds a job to the queue.
       *
       * @param {Function} job The job to run
       * @public
       */
      add(job) {
        this.jobs.push(job);
        this[kRun]();
      }
      /**
       * Removes a job from the queue and runs it if possible.
       *
       * @private
       */
      [kRun]() {
        if (this.pending === this.concurrency) return;
        if (this.jobs.length) {
          const job = this.jobs.shift();
          this.pending++;
          job(this[kDone]);
        }
      }
    };
    module2.exports = Limiter;
  }
});

// node_modules/ws/lib/permessage-deflate.js
var require_permessage_deflate = __commonJS({
  "node_modules/ws/lib/permessage-deflate.js"(exports2, module2) {
    "use strict";
    var zlib = require("zlib");
    var bufferUtil = require_buffer_util();
    var Limiter = require_limiter();
    var { kStatusCode } = require_constants();
    var FastBuffer = Buffer[Symbol.species];
    var TRAILER = Buffer.from([0, 0, 255, 255]);
    var kPerMessageDeflate = /* @__PURE__ */ Symbol("permessage-deflate");
    var kTotalLength = /* @__PURE__ */ Symbol("total-length");
    var kCallback = /* @__PURE__ */ Symbol("callback");
    var kBuffers = /* @__PURE__ */ Symbol("buffers");
    var kError = /* @__PURE__ */ Symbol("error");
    var zlibLimiter;
    var PerMessageDeflate = class {
      /**
       * Creates a PerMessageDeflate instance.
       *
       * @param {Object} [options] Configuration options
       * @param {(Boolean|Number)} [options.clientMaxWindowBits] Advertise support
       *     for, or request, a custom client window size
       * @param {Boolean} [options.clientNoContextTakeover=false] Advertise/
       *     acknowledge disabling of client context takeover
       * @param {Number} [options.concurrencyLimit=10] The number of concurrent
       *     calls to zlib
       * @param {Boolean} [options.isServer=false] Create the instance in either
       *     server or client mode
       * @param {Number} [options.maxPayload=0] The maximum allowed message length
       * @param {(Boolean|Number)} [options.serverMaxWindowBits] Request/confirm the
       *     use of a custom server window size
       * @param {Boolean} [options.serverNoContextTakeover=false] Request/accept
       *     disabling of server context takeover
       * @param {Number} [options.threshold=1024] Size (in bytes) below which
       *     messages should not be compressed if context takeover is disabled
       * @param {Object} [options.zlibDeflateOptions] Options to pass to zlib on
       *     deflate
       * @param {Object} [options.zlibInflateOptions] Options to pass to zlib on
       *     inflate
       */
      constructor(options) {
        this._options = options || {};
        this._threshold = this._options.threshold !== void 0 ? this._options.threshold : 1024;
        this._maxPayload = this._options.maxPayload | 0;
        this._isServer = !!this._options.isServer;
        this._deflate = null;
        this._inflate = null;
        this.params = null;
        if (!zlibLimiter) {
          const concurrency = this._options.concurrencyLimit !== void 0 ? this._options.concurrencyLimit : 10;
          zlibLimiter = new Limiter(concurrency);
        }
      }
      /**
       * @type {String}
       */
      static get extensionName() {
        return "permessage-deflate";
      }
      /**
       * Create an extension negotiation offer.
       *
       * @return {Object} Extension parameters
       * @public
       */
      offer() {
        const params = {};
        if (this._options.serverNoContextTakeover) {
          params.server_no_context_takeover = true;
        }
        if (this._options.clientNoContextTakeover) {
          params.client_no_context_takeover = true;
        }
        if (this._options.serverMaxWindowBits) {
          params.server_max_window_bits = this._options.serverMaxWindowBits;
        }
        if (this._options.clientMaxWindowBits) {
          params.client_max_window_bits = this._options.clientMaxWindowBits;
        } else if (this._options.clientMaxWindowBits == null) {
          params.client_max_window_bits = true;
        }
        return params;
      }
      /**
       * Accept an extension negotiation offer/response.
       *
       * @param {Array} configurations The extension negotiation offers/reponse
       * @return {Object} Accepted configuration
       * @public
       */
      accept(configurations) {
        configurations = this.normalizeParams(configurations);
        this.params = this._isServer ? this.acceptAsServer(configurations) : this.acceptAsClient(configurations);
        return this.params;
      }
      /**
       * Releases all resources used by the extension.
       *
       * @public
       */
      cleanup() {
        if (this._inflate) {
          this._inflate.close();
          this._inflate = null;
        }
        if (this._deflate) {
          const callback = this._deflate[kCallback];
          this._deflate.close();
          this._deflate = null;
          if (callback) {
            callback(
              new Error(
                "The deflate stream was closed while data was being processed"
              )
            );
          }
        }
      }
      /**
       *  Accept an extension negotiation offer.
       *
       * @param {Array} offers The extension negotiation offers
       * @return {Object} Accepted configuration
       * @private
       */
      acceptAsServer(offers) {
        const opts = this._options;
        const accepted = offers.find((params) => {
          if (opts.serverNoContextTakeover === false && params.server_no_context_takeover || params.server_max_window_bits && (opts.serverMaxWindowBits === false || typeof opts.serverMaxWindowBits === "number" && opts.serverMaxWindowBits > params.server_max_window_bits) || typeof opts.clientMaxWindowBits === "number" && (typeof params.client_max_window_bits === "number" ? opts.clientMaxWindowBits > params.client_max_window_bits : !params.client_max_window_bits)) {
            return false;
          }
          return true;
        });
        if (!accepted) {
          throw new Error("None of the extension offers can be accepted");
        }
        if (opts.serverNoContextTakeover) {
          accepted.server_no_context_takeover = true;
        }
        if (opts.clientNoContextTakeover) {
          accepted.client_no_context_takeover = true;
        }
        if (typeof opts.serverMaxWindowBits === "number") {
          accepted.server_max_window_bits = opts.serverMaxWindowBits;
        }
        if (typeof opts.clientMaxWindowBits === "number") {
          accepted.client_max_window_bits = opts.clientMaxWindowBits;
        } else if (accepted.client_max_window_bits === true || opts.clientMaxWindowBits === false) {
          delete accepted.client_max_window_bits;
        }
        return accepted;
      }
      /**
       * Accept the extension negotiation response.
       *
       * @param {Array} response The extension negotiation response
       * @return {Object} Accepted configuration
       * @private
       */
      acceptAsClient(response) {
        const params = response[0];
        if (this._options.clientNoContextTakeover === false && params.client_no_context_takeover) {
          throw new Error('Unexpected parameter "client_no_context_takeover"');
        }
        if (!params.client_max_window_bits) {
          if (typeof this._options.clientMaxWindowBits === "number") {
            params.client_max_window_bits = this._options.clientMaxWindowBits;
          }
        } else if (this._options.clientMaxWindowBits === false || typeof this._options.clientMaxWindowBits === "number" && params.client_max_window_bits > this._options.clientMaxWindowBits) {
          throw new Error(
            'Unexpected or invalid parameter "client_max_window_bits"'
          );
        }
        return params;
      }
      /**
       * Normalize parameters.
       *
       * @param {Array} configurations The extension negotiation offers/reponse
       * @return {Array} The offers/response with normalized parameters
       * @private
       */
      normalizeParams(configurations) {
        configurations.forEach((params) => {
          Object.keys(params).forEach((key) => {
            let value = params[key];
            if (value.length > 1) {
              throw new Error(`Parameter "${key}" must have only a single value`);
            }
            value = value[0];
            if (key === "client_max_window_bits") {
              if (value !== true) {
                const num = +value;
                if (!Number.isInteger(num) || num < 8 || num > 15) {
                  throw new TypeError(
                    `Invalid value for parameter "${key}": ${value}`
                  );
                }
                value = num;
              } else if (!this._isServer) {
                throw new TypeError(
                  `Invalid value for parameter "${key}": ${value}`
                );
              }
            } else if (key === "server_max_window_bits") {
              const num = +value;
              if (!Number.isInteger(num) || num < 8 || num > 15) {
                throw new TypeError(
                  `Invalid value for parameter "${key}": ${value}`
                );
              }
              value = num;
            } else if (key === "client_no_context_takeover" || key === "server_no_context_takeover") {
              if (value !== true) {
                throw new TypeError(
                  `Invalid value for parameter "${key}": ${value}`
                );
              }
            } else {
              throw new Error(`Unknown parameter "${key}"`);
            }
            params[key] = value;
          });
        });
        return configurations;
      }
      /**
       * Decompress data. Concurrency limited.
       *
       * @param {Buffer} data Compressed data
       * @param {Boolean} fin Specifies whether or not this is the last fragment
       * @param {Function} callback Callback
       * @public
       */
      decompress(data, fin, callback) {
        zlibLimiter.add((done) => {
          this._decompress(data, fin, (err, result) => {
            done();
            callback(err, result);
          });
        });
      }
      /**
       * Compress data. Concurrency limited.
       *
       * @param {(Buffer|String)} data Data to compress
       * @param {Boolean} fin Specifies whether or not this is the last fragment
       * @param {Function} callback Callback
       * @public
       */
      compress(data, fin, callback) {
        zlibLimiter.add((done) => {
          this._compress(data, fin, (err, result) => {
            done();
            callback(err, result);
          });
        });
      }
      /**
       * Decompress data.
       *
       * @param {Buffer} data Compressed data
       * @param {Boolean} fin Specifies whether or not this is the last fragment
       * @param {Function} callback Callback
       * @private
       */
      _decompress(data, fin, callback) {
        const endpoint = this._isServer ? "client" : "server";
        if (!this._inflate) {
          const key = `${endpoint}_max_window_bits`;
          const windowBits = typeof this.params[key] !== "number" ? zlib.Z_DEFAULT_WINDOWBITS : this.params[key];
          this._inflate = zlib.createInflateRaw({
            ...this._options.zlibInflateOptions,
            windowBits
          });
          this._inflate[kPerMessageDeflate] = this;
          this._inflate[kTotalLength] = 0;
          this._inflate[kBuffers] = [];
          this._inflate.on("error", inflateOnError);
          this._inflate.on("data", inflateOnData);
        }
        this._inflate[kCallback] = callback;
        this._inflate.write(data);
        if (fin) this._inflate.write(TRAILER);
        this._inflate.flush(() => {
          const err = this._inflate[kError];
          if (err) {
            this._inflate.close();
            this._inflate = null;
            callback(err);
            return;
          }
          const data2 = bufferUtil.concat(
            this._inflate[kBuffers],
            this._inflate[kTotalLength]
          );
          if (this._inflate._readableState.endEmitted) {
            this._inflate.close();
            this._inflate = null;
          } else {
            this._inflate[kTotalLength] = 0;
            this._inflate[kBuffers] = [];
            if (fin && this.params[`${endpoint}_no_context_takeover`]) {
              this._inflate.reset();
            }
          }
          callback(null, data2);
        });
      }
      /**
       * Compress data.
       *
       * @param {(Buffer|String)} data Data to compress
       * @param {Boolean} fin Specifies whether or not this is the last fragment
       * @param {Function} callback Callback
       * @private
       */
      _compress(data, fin, callback) {
        const endpoint = this._isServer ? "server" : "client";
        if (!this._deflate) {
          const key = `${endpoint}_max_window_bits`;
          const windowBits = typeof this.params[key] !== "number" ? zlib.Z_DEFAULT_WINDOWBITS : this.params[key];
          this._deflate = zlib.createDeflateRaw({
            ...this._options.zlibDeflateOptions,
            windowBits
          });
          this._deflate[kTotalLength] = 0;
          this._deflate[kBuffers] = [];
          this._deflate.on("data", deflateOnData);
        }
        this._deflate[kCallback] = callback;
        this._deflate.write(data);
        this._deflate.flush(zlib.Z_SYNC_FLUSH, () => {
          if (!this._deflate) {
            return;
          }
          let data2 = bufferUtil.concat(
            this._deflate[kBuffers],
            this._deflate[kTotalLength]
          );
          if (fin) {
            data2 = new FastBuffer(data2.buffer, data2.byteOffset, data2.length - 4);
          }
          this._deflate[kCallback] = null;
          this._deflate[kTotalLength] = 0;
          this._deflate[kBuffers] = [];
          if (fin && this.params[`${endpoint}_no_context_takeover`]) {
            this._deflate.reset();
          }
          callback(null, data2);
        });
      }
    };
    module2.exports = PerMessageDeflate;
    function deflateOnData(chunk) {
      this[kBuffers].push(chunk);
      this[kTotalLength] += chunk.length;
    }
    function inflateOnData(chunk) {
      this[kTotalLength] += chunk.length;
      if (this[kPerMessageDeflate]._maxPayload < 1 || this[kTotalLength] <= this[kPerMessageDeflate]._maxPayload) {
        this[kBuffers].push(chunk);
        return;
      }
      this[kError] = new RangeError("Max payload size exceeded");
      this[kError].code = "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH";
      this[kError][kStatusCode] = 1009;
      this.removeListener("data", inflateOnData);
      this.reset();
    }
    function inflateOnError(err) {
      this[kPerMessageDeflate]._inflate = null;
      if (this[kError]) {
        this[kCallback](this[kError]);
        return;
      }
      err[kStatusCode] = 1007;
      this[kCallback](err);
    }
  }
});

// node_modules/ws/lib/validation.js
var require_validation = __commonJS({
  "node_modules/ws/lib/validation.js"(exports2, module2) {
    "use strict";
    var { isUtf8 } = require("buffer");
    var { hasBlob } = require_constants();
    var tokenChars = [
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      // 0 - 15
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      // 16 - 31
      0,
      1,
      0,
      1,
      1,
      1,
      1,
      1,
      0,
      0,
      1,
      1,
      0,
      1,
      1,
      0,
      // 32 - 47
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      0,
      0,
      0,
      0,
      0,
      0,
      // 48 - 63
      0,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      // 64 - 79
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      0,
      0,
      0,
      1,
      1,
      // 80 - 95
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      // 96 - 111
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      0,
      1,
      0,
      1,
      0
      // 112 - 127
    ];
    function isValidStatusCode(code) {
      return code >= 1e3 && code <= 1014 && code !== 1004 && code !== 1005 && code !== 1006 || code >= 3e3 && code <= 4999;
    }
    function _isValidUTF8(buf) {
      const len = buf.length;
      let i = 0;
      while (i < len) {
        if ((buf[i] & 128) === 0) {
          i++;
        } else if ((buf[i] & 224) === 192) {
          if (i + 1 === len || (buf[i + 1] & 192) !== 128 || (buf[i] & 254) === 192) {
            return false;
          }
          i += 2;
        } else if ((buf[i] & 240) === 224) {
          if (i + 2 >= len || (buf[i + 1] & 192) !== 128 || (buf[i + 2] & 192) !== 128 || buf[i] === 224 && (buf[i + 1] & 224) === 128 || // Overlong
          buf[i] === 237 && (buf[i + 1] & 224) === 160) {
            return false;
          }
          i += 3;
        } else if ((buf[i] & 248) === 240) {
          if (i + 3 >= len || (buf[i + 1] & 192) !== 128 || (buf[i + 2] & 192) !== 128 || (buf[i + 3] & 192) !== 128 || buf[i] === 240 && (buf[i + 1] & 240) === 128 || // Overlong
          buf[i] === 244 && buf[i + 1] > 143 || buf[i] > 244) {
            return false;
          }
          i += 4;
        } else {
          return false;
        }
      }
      return true;
    }
    function isBlob(value) {
      return hasBlob && typeof value === "object" && typeof value.arrayBuffer === "function" && typeof value.type === "string" && typeof value.stream === "function" && (value[Symbol.toStringTag] === "Blob" || value[Symbol.toStringTag] === "File");
    }
    module2.exports = {
      isBlob,
      isValidStatusCode,
      isValidUTF8: _isValidUTF8,
      tokenChars
    };
    if (isUtf8) {
      module2.exports.isValidUTF8 = function(buf) {
        return buf.length < 24 ? _isValidUTF8(buf) : isUtf8(buf);
      };
    } else if (false) {
      try {
        const isValidUTF8 = null;
        module2.exports.isValidUTF8 = function(buf) {
          return buf.length < 32 ? _isValidUTF8(buf) : isValidUTF8(buf);
        };
      } catch (e) {
      }
    }
  }
});

// node_modules/ws/lib/receiver.js
var require_receiver = __commonJS({
  "node_modules/ws/lib/receiver.js"(exports2, module2) {
    "use strict";
    var { Writable } = require("stream");
    var PerMessageDeflate = require_permessage_deflate();
    var {
      BINARY_TYPES,
      EMPTY_BUFFER,
      kStatusCode,
      kWebSocket
    } = require_constants();
    var { concat, toArrayBuffer, unmask } = require_buffer_util();
    var { isValidStatusCode, isValidUTF8 } = require_validation();
    var FastBuffer = Buffer[Symbol.species];
    var GET_INFO = 0;
    var GET_PAYLOAD_LENGTH_16 = 1;
    var GET_PAYLOAD_LENGTH_64 = 2;
    var GET_MASK = 3;
    var GET_DATA = 4;
    var INFLATING = 5;
    var DEFER_EVENT = 6;
    var Receiver = class extends Writable {
      /**
       * Creates a Receiver instance.
       *
       * @param {Object} [options] Options object
       * @param {Boolean} [options.allowSynchronousEvents=true] Specifies whether
       *     any of the `'message'`, `'ping'`, and `'pong'` events can be emitted
       *     multiple times in the same tick
       * @param {String} [options.binaryType=nodebuffer] The type for binary data
       * @param {Object} [options.extensions] An object containing the negotiated
       *     extensions
       * @param {Boolean} [options.isServer=false] Specifies whether to operate in
       *     client or server mode
       * @param {Number} [options.maxBufferedChunks=0] The maximum number of
       *     buffered data chunks
       * @param {Number} [options.maxFragments=0] The maximum number of message
       *     fragments
       * @param {Number} [options.maxPayload=0] The maximum allowed message length
       * @param {Boolean} [options.skipUTF8Validation=false] Specifies whether or
       *     not to skip UTF-8 validation for text and close messages
       */
      constructor(options = {}) {
        super();
        this._allowSynchronousEvents = options.allowSynchronousEvents !== void 0 ? options.allowSynchronousEvents : true;
        this._binaryType = options.binaryType || BINARY_TYPES[0];
        this._extensions = options.extensions || {};
        this._isServer = !!options.isServer;
        this._maxBufferedChunks = options.maxBufferedChunks | 0;
        this._maxFragments = options.maxFragments | 0;
        this._maxPayload = options.maxPayload | 0;
        this._skipUTF8Validation = !!options.skipUTF8Validation;
        this[kWebSocket] = void 0;
        this._bufferedBytes = 0;
        this._buffers = [];
        this._compressed = false;
        this._payloadLength = 0;
        this._mask = void 0;
        this._fragmented = 0;
        this._masked = false;
        this._fin = false;
        this._opcode = 0;
        this._totalPayloadLength = 0;
        this._messageLength = 0;
        this._numFragments = 0;
        this._fragments = [];
        this._errored = false;
        this._loop = false;
        this._state = GET_INFO;
      }
      /**
       * Implements `Writable.prototype._write()`.
       *
       * @param {Buffer} chunk The chunk of data to write
       * @param {String} encoding The character encoding of `chunk`
       * @param {Function} cb Callback
       * @private
       */
      _write(chunk, encoding, cb) {
        if (this._opcode === 8 && this._state == GET_INFO) return cb();
        if (this._maxBufferedChunks > 0 && this._buffers.length >= this._maxBufferedChunks) {
          cb(
            this.createError(
              RangeError,
              "Too many buffered chunks",
              false,
              1008,
              "WS_ERR_TOO_MANY_BUFFERED_PARTS"
            )
          );
          return;
        }
        this._bufferedBytes += chunk.length;
        this._buffers.push(chunk);
        this.startLoop(cb);
      }
      /**
       * Consumes `n` bytes from the buffered data.
       *
       * @param {Number} n The number of bytes to consume
       * @return {Buffer} The consumed bytes
       * @private
       */
      consume(n) {
        this._bufferedBytes -= n;
        if (n === this._buffers[0].length) return this._buffers.shift();
        if (n < this._buffers[0].length) {
          const buf = this._buffers[0];
          this._buffers[0] = new FastBuffer(
            buf.buffer,
            buf.byteOffset + n,
            buf.length - n
          );
          return new FastBuffer(buf.buffer, buf.byteOffset, n);
        }
        const dst = Buffer.allocUnsafe(n);
        do {
          const buf = this._buffers[0];
          const offset = dst.length - n;
          if (n >= buf.length) {
            dst.set(this._buffers.shift(), offset);
          } else {
            dst.set(new Uint8Array(buf.buffer, buf.byteOffset, n), offset);
            this._buffers[0] = new FastBuffer(
              buf.buffer,
              buf.byteOffset + n,
              buf.length - n
            );
          }
          n -= buf.length;
        } while (n > 0);
        return dst;
      }
      /**
       * Starts the parsing loop.
       *
       * @param {Function} cb Callback
       * @private
       */
      startLoop(cb) {
        this._loop = true;
        do {
          switch (this._state) {
            case GET_INFO:
              this.getInfo(cb);
              break;
            case GET_PAYLOAD_LENGTH_16:
              this.getPayloadLength16(cb);
              break;
            case GET_PAYLOAD_LENGTH_64:
              this.getPayloadLength64(cb);
              break;
            case GET_MASK:
              this.getMask();
              break;
            case GET_DATA:
              this.getData(cb);
              break;
            case INFLATING:
            case DEFER_EVENT:
              this._loop = false;
              return;
          }
        } while (this._loop);
        if (!this._errored) cb();
      }
      /**
       * Reads the first two bytes of a frame.
       *
       * @param {Function} cb Callback
       * @private
       */
      getInfo(cb) {
        if (this._bufferedBytes < 2) {
          this._loop = false;
          return;
        }
        const buf = this.consume(2);
        if ((buf[0] & 48) !== 0) {
          const error = this.createError(
            RangeError,
            "RSV2 and RSV3 must be clear",
            true,
            1002,
            "WS_ERR_UNEXPECTED_RSV_2_3"
          );
          cb(error);
          return;
        }
        const compressed = (buf[0] & 64) === 64;
        if (compressed && !this._extensions[PerMessageDeflate.extensionName]) {
          const error = this.createError(
            RangeError,
            "RSV1 must be clear",
            true,
            1002,
            "WS_ERR_UNEXPECTED_RSV_1"
          );
          cb(error);
          return;
        }
        this._fin = (buf[0] & 128) === 128;
        this._opcode = buf[0] & 15;
        this._payloadLength = buf[1] & 127;
        if (this._opcode === 0) {
          if (compressed) {
            const error = this.createError(
              RangeError,
              "RSV1 must be clear",
              true,
              1002,
              "WS_ERR_UNEXPECTED_RSV_1"
            );
            cb(error);
            return;
          }
          if (!this._fragmented) {
            const error = this.createError(
              RangeError,
              "invalid opcode 0",
              true,
              1002,
              "WS_ERR_INVALID_OPCODE"
            );
            cb(error);
            return;
          }
          this._opcode = this._fragmented;
        } else if (this._opcode === 1 || this._opcode === 2) {
          if (this._fragmented) {
            const error = this.createError(
              RangeError,
              `invalid opcode ${this._opcode}`,
              true,
              1002,
              "WS_ERR_INVALID_OPCODE"
            );
            cb(error);
            return;
          }
          this._compressed = compressed;
        } else if (this._opcode > 7 && this._opcode < 11) {
          if (!this._fin) {
            const error = this.createError(
              RangeError,
              "FIN must be set",
              true,
              1002,
              "WS_ERR_EXPECTED_FIN"
            );
            cb(error);
            return;
          }
          if (compressed) {
            const error = this.createError(
              RangeError,
              "RSV1 must be clear",
              true,
              1002,
              "WS_ERR_UNEXPECTED_RSV_1"
            );
            cb(error);
            return;
          }
          if (this._payloadLength > 125 || this._opcode === 8 && this._payloadLength === 1) {
            const error = this.createError(
              RangeError,
              `invalid payload length ${this._payloadLength}`,
              true,
              1002,
              "WS_ERR_INVALID_CONTROL_PAYLOAD_LENGTH"
            );
            cb(error);
            return;
          }
        } else {
          const error = this.createError(
            RangeError,
            `invalid opcode ${this._opcode}`,
            true,
            1002,
            "WS_ERR_INVALID_OPCODE"
          );
          cb(error);
          return;
        }
        if (!this._fin && !this._fragmented) this._fragmented = this._opcode;
        this._masked = (buf[1] & 128) === 128;
        if (this._isServer) {
          if (!this._masked) {
            const error = this.createError(
              RangeError,
              "MASK must be set",
              true,
              1002,
              "WS_ERR_EXPECTED_MASK"
            );
            cb(error);
            return;
          }
        } else if (this._masked) {
          const error = this.createError(
            RangeError,
            "MASK must be clear",
            true,
            1002,
            "WS_ERR_UNEXPECTED_MASK"
          );
          cb(error);
          return;
        }
        if (this._payloadLength === 126) this._state = GET_PAYLOAD_LENGTH_16;
        else if (this._payloadLength === 127) this._state = GET_PAYLOAD_LENGTH_64;
        else this.haveLength(cb);
      }
      /**
       * Gets extended payload length (7+16).
       *
       * @param {Function} cb Callback
       * @private
       */
      getPayloadLength16(cb) {
        if (this._bufferedBytes < 2) {
          this._loop = false;
          return;
        }
        this._payloadLength = this.consume(2).readUInt16BE(0);
        this.haveLength(cb);
      }
      /**
       * Gets extended payload length (7+64).
       *
       * @param {Function} cb Callback
       * @private
       */
      getPayloadLength64(cb) {
        if (this._bufferedBytes < 8) {
          this._loop = false;
          return;
        }
        const buf = this.consume(8);
        const num = buf.readUInt32BE(0);
        if (num > Math.pow(2, 53 - 32) - 1) {
          const error = this.createError(
            RangeError,
            "Unsupported WebSocket frame: payload length > 2^53 - 1",
            false,
            1009,
            "WS_ERR_UNSUPPORTED_DATA_PAYLOAD_LENGTH"
          );
          cb(error);
          return;
        }
        this._payloadLength = num * Math.pow(2, 32) + buf.readUInt32BE(4);
        this.haveLength(cb);
      }
      /**
       * Payload length has been read.
       *
       * @param {Function} cb Callback
       * @private
       */
      haveLength(cb) {
        if (this._payloadLength && this._opcode < 8) {
          this._totalPayloadLength += this._payloadLength;
          if (this._totalPayloadLength > this._maxPayload && this._maxPayload > 0) {
            const error = this.createError(
              RangeError,
              "Max payload size exceeded",
              false,
              1009,
              "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH"
            );
            cb(error);
            return;
          }
        }
        if (this._masked) this._state = GET_MASK;
        else this._state = GET_DATA;
      }
      /**
       * Reads mask bytes.
       *
       * @private
       */
      getMask() {
        if (this._bufferedBytes < 4) {
          this._loop = false;
          return;
        }
        this._mask = this.consume(4);
        this._state = GET_DATA;
      }
      /**
       * Reads data bytes.
       *
       * @param {Function} cb Callback
       * @private
       */
      getData(cb) {
        let data = EMPTY_BUFFER;
        if (this._payloadLength) {
          if (this._bufferedBytes < this._payloadLength) {
            this._loop = false;
            return;
          }
          data = this.consume(this._payloadLength);
          if (this._masked && (this._mask[0] | this._mask[1] | this._mask[2] | this._mask[3]) !== 0) {
            unmask(data, this._mask);
          }
        }
        this._mask = void 0;
        if (this._opcode > 7) {
          this.controlMessage(data, cb);
          return;
        }
        if (this._maxFragments > 0 && ++this._numFragments > this._maxFragments) {
          const error = this.createError(
            RangeError,
            "Too many message fragments",
            false,
            1008,
            "WS_ERR_TOO_MANY_BUFFERED_PARTS"
          );
          cb(error);
          return;
        }
        if (this._compressed) {
          this._state = INFLATING;
          this.decompress(data, cb);
          return;
        }
        if (data.length) {
          this._messageLength = this._totalPayloadLength;
          this._fragments.push(data);
        }
        this.dataMessage(cb);
      }
      /**
       * Decompresses data.
       *
       * @param {Buffer} data Compressed data
       * @param {Function} cb Callback
       * @private
       */
      decompress(data, cb) {
        const perMessageDeflate = this._extensions[PerMessageDeflate.extensionName];
        perMessageDeflate.decompress(data, this._fin, (err, buf) => {
          if (err) return cb(err);
          if (buf.length) {
            this._messageLength += buf.length;
            if (this._messageLength > this._maxPayload && this._maxPayload > 0) {
              const error = this.createError(
                RangeError,
                "Max payload size exceeded",
                false,
                1009,
                "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH"
              );
              cb(error);
              return;
            }
            this._fragments.push(buf);
          }
          this.dataMessage(cb);
          if (this._state === GET_INFO) this.startLoop(cb);
        });
      }
      /**
       * Handles a data message.
       *
       * @param {Function} cb Callback
       * @private
       */
      dataMessage(cb) {
        if (!this._fin) {
          this._state = GET_INFO;
          return;
        }
        const messageLength = this._messageLength;
        const fragments = this._fragments;
        this._totalPayloadLength = 0;
        this._messageLength = 0;
        this._fragmented = 0;
        this._numFragments = 0;
        this._fragments = [];
        if (this._opcode === 2) {
          let data;
          if (this._binaryType === "nodebuffer") {
            data = concat(fragments, messageLength);
          } else if (this._binaryType === "arraybuffer") {
            data = toArrayBuffer(concat(fragments, messageLength));
          } else if (this._binaryType === "blob") {
            data = new Blob(fragments);
          } else {
            data = fragments;
          }
          if (this._allowSynchronousEvents) {
            this.emit("message", data, true);
            this._state = GET_INFO;
          } else {
            this._state = DEFER_EVENT;
            setImmediate(() => {
              this.emit("message", data, true);
              this._state = GET_INFO;
              this.startLoop(cb);
            });
          }
        } else {
          const buf = concat(fragments, messageLength);
          if (!this._skipUTF8Validation && !isValidUTF8(buf)) {
            const error = this.createError(
              Error,
              "invalid UTF-8 sequence",
              true,
              1007,
              "WS_ERR_INVALID_UTF8"
            );
            cb(error);
            return;
          }
          if (this._state === INFLATING || this._allowSynchronousEvents) {
            this.emit("message", buf, false);
            this._state = GET_INFO;
          } else {
            this._state = DEFER_EVENT;
            setImmediate(() => {
              this.emit("message", buf, false);
              this._state = GET_INFO;
              this.startLoop(cb);
            });
          }
        }
      }
      /**
       * Handles a control message.
       *
       * @param {Buffer} data Data to handle
       * @return {(Error|RangeError|undefined)} A possible error
       * @private
       */
      controlMessage(data, cb) {
        if (this._opcode === 8) {
          if (data.length === 0) {
            this._loop = false;
            this.emit("conclude", 1005, EMPTY_BUFFER);
            this.end();
          } else {
            const code = data.readUInt16BE(0);
            if (!isValidStatusCode(code)) {
              const error = this.createError(
                RangeError,
                `invalid status code ${code}`,
                true,
                1002,
                "WS_ERR_INVALID_CLOSE_CODE"
              );
              cb(error);
              return;
            }
            const buf = new FastBuffer(
              data.buffer,
              data.byteOffset + 2,
              data.length - 2
            );
            if (!this._skipUTF8Validation && !isValidUTF8(buf)) {
              const error = this.createError(
                Error,
                "invalid UTF-8 sequence",
                true,
                1007,
                "WS_ERR_INVALID_UTF8"
              );
              cb(error);
              return;
            }
            this._loop = false;
            this.emit("conclude", code, buf);
            this.end();
          }
          this._state = GET_INFO;
          return;
        }
        if (this._allowSynchronousEvents) {
          this.emit(this._opcode === 9 ? "ping" : "pong", data);
          this._state = GET_INFO;
        } else {
          this._state = DEFER_EVENT;
          setImmediate(() => {
            this.emit(this._opcode === 9 ? "ping" : "pong", data);
            this._state = GET_INFO;
            this.startLoop(cb);
          });
        }
      }
      /**
       * Builds an error object.
       *
       * @param {function(new:Error|RangeError)} ErrorCtor The error constructor
       * @param {String} message The error message
       * @param {Boolean} prefix Specifies whether or not to add a default prefix to
       *     `message`
       * @param {Number} statusCode The status code
       * @param {String} errorCode The exposed error code
       * @return {(Error|RangeError)} The error
       * @private
       */
      createError(ErrorCtor, message, prefix2, statusCode, errorCode) {
        this._loop = false;
        this._errored = true;
        const err = new ErrorCtor(
          prefix2 ? `Invalid WebSocket frame: ${message}` : message
        );
        Error.captureStackTrace(err, this.createError);
        err.code = errorCode;
        err[kStatusCode] = statusCode;
        return err;
      }
    };
    module2.exports = Receiver;
  }
});

// node_modules/ws/lib/sender.js
var require_sender = __commonJS({
  "node_modules/ws/lib/sender.js"(exports2, module2) {
    "use strict";
    var { Duplex } = require("stream");
    var { randomFillSync } = require("crypto");
    var {
      types: { isUint8Array }
    } = require("util");
    var PerMessageDeflate = require_permessage_deflate();
    var { EMPTY_BUFFER, kWebSocket, NOOP } = require_constants();
    var { isBlob, isValidStatusCode } = require_validation();
    var { mask: applyMask, toBuffer } = require_buffer_util();
    var kByteLength = /* @__PURE__ */ Symbol("kByteLength");
    var maskBuffer = Buffer.alloc(4);
    var RANDOM_POOL_SIZE = 8 * 1024;
    var randomPool;
    var randomPoolPointer = RANDOM_POOL_SIZE;
    var DEFAULT = 0;
    var DEFLATING = 1;
    var GET_BLOB_DATA = 2;
    var Sender = class _Sender {
      /**
       * Creates a Sender instance.
       *
       * @param {Duplex} socket The connection socket
       * @param {Object} [extensions] An object containing the negotiated extensions
       * @param {Function} [generateMask] The function used to generate the masking
       *     key
       */
      constructor(socket, extensions, generateMask) {
        this._extensions = extensions || {};
        if (generateMask) {
          this._generateMask = generateMask;
          this._maskBuffer = Buffer.alloc(4);
        }
        this._socket = socket;
        this._firstFragment = true;
        this._compress = false;
        this._bufferedBytes = 0;
        this._queue = [];
        this._state = DEFAULT;
        this.onerror = NOOP;
        this[kWebSocket] = void 0;
      }
      /**
       * Frames a piece of data according to the HyBi WebSocket protocol.
       *
       * @param {(Buffer|String)} data The data to frame
       * @param {Object} options Options object
       * @param {Boolean} [options.fin=false] Specifies whether or not to set the
       *     FIN bit
       * @param {Function} [options.generateMask] The function used to generate the
       *     masking key
       * @param {Boolean} [options.mask=false] Specifies whether or not to mask
       *     `data`
       * @param {Buffer} [options.maskBuffer] The buffer used to store the masking
       *     key
       * @param {Number} options.opcode The opcode
       * @param {Boolean} [options.readOnly=false] Specifies whether `data` can be
       *     modified
       * @param {Boolean} [options.rsv1=false] Specifies whether or not to set the
       *     RSV1 bit
       * @return {(Buffer|String)[]} The framed data
       * @public
       */
      static frame(data, options) {
        let mask;
        let merge = false;
        let offset = 2;
        let skipMasking = false;
        if (options.mask) {
          mask = options.maskBuffer || maskBuffer;
          if (options.generateMask) {
            options.generateMask(mask);
          } else {
            if (randomPoolPointer === RANDOM_POOL_SIZE) {
              if (randomPool === void 0) {
                randomPool = Buffer.alloc(RANDOM_POOL_SIZE);
              }
              randomFillSync(randomPool, 0, RANDOM_POOL_SIZE);
              randomPoolPointer = 0;
            }
            mask[0] = randomPool[randomPoolPointer++];
            mask[1] = randomPool[randomPoolPointer++];
            mask[2] = randomPool[randomPoolPointer++];
            mask[3] = randomPool[randomPoolPointer++];
          }
          skipMasking = (mask[0] | mask[1] | mask[2] | mask[3]) === 0;
          offset = 6;
        }
        let dataLength;
        if (typeof data === "string") {
          if ((!options.mask || skipMasking) && options[kByteLength] !== void 0) {
            dataLength = options[kByteLength];
          } else {
            data = Buffer.from(data);
            dataLength = data.length;
          }
        } else {
          dataLength = data.length;
          merge = options.mask && options.readOnly && !skipMasking;
        }
        let payloadLength = dataLength;
        if (dataLength >= 65536) {
          offset += 8;
          payloadLength = 127;
        } else if (dataLength > 125) {
          offset += 2;
          payloadLength = 126;
        }
        const target = Buffer.allocUnsafe(merge ? dataLength + offset : offset);
        target[0] = options.fin ? options.opcode | 128 : options.opcode;
        if (options.rsv1) target[0] |= 64;
        target[1] = payloadLength;
        if (payloadLength === 126) {
          target.writeUInt16BE(dataLength, 2);
        } else if (payloadLength === 127) {
          target[2] = target[3] = 0;
          target.writeUIntBE(dataLength, 4, 6);
        }
        if (!options.mask) {
          return dataLength ? [target, data] : [target];
        }
        target[1] |= 128;
        target[offset - 4] = mask[0];
        target[offset - 3] = mask[1];
        target[offset - 2] = mask[2];
        target[offset - 1] = mask[3];
        if (!dataLength) return [target];
        if (skipMasking) return [target, data];
        if (merge) {
          applyMask(data, mask, target, offset, dataLength);
          return [target];
        }
        applyMask(data, mask, data, 0, dataLength);
        return [target, data];
      }
      /**
       * Sends a close message to the other peer.
       *
       * @param {Number} [code] The status code component of the body
       * @param {(String|Buffer)} [data] The message component of the body
       * @param {Boolean} [mask=false] Specifies whether or not to mask the message
       * @param {Function} [cb] Callback
       * @public
       */
      close(code, data, mask, cb) {
        let buf;
        if (code === void 0) {
          buf = EMPTY_BUFFER;
        } else if (typeof code !== "number" || !isValidStatusCode(code)) {
          throw new TypeError("First argument must be a valid error code number");
        } else if (data === void 0 || !data.length) {
          buf = Buffer.allocUnsafe(2);
          buf.writeUInt16BE(code, 0);
        } else {
          const length = Buffer.byteLength(data);
          if (length > 123) {
            throw new RangeError("The message must not be greater than 123 bytes");
          }
          buf = Buffer.allocUnsafe(2 + length);
          buf.writeUInt16BE(code, 0);
          if (typeof data === "string") {
            buf.write(data, 2);
          } else if (isUint8Array(data)) {
            buf.set(data, 2);
          } else {
            throw new TypeError("Second argument must be a string or a Uint8Array");
          }
        }
        const options = {
          [kByteLength]: buf.length,
          fin: true,
          generateMask: this._generateMask,
          mask,
          maskBuffer: this._maskBuffer,
          opcode: 8,
          readOnly: false,
          rsv1: false
        };
        if (this._state !== DEFAULT) {
          this.enqueue([this.dispatch, buf, false, options, cb]);
        } else {
          this.sendFrame(_Sender.frame(buf, options), cb);
        }
      }
      /**
       * Sends a ping message to the other peer.
       *
       * @param {*} data The message to send
       * @param {Boolean} [mask=false] Specifies whether or not to mask `data`
       * @param {Function} [cb] Callback
       * @public
       */
      ping(data, mask, cb) {
        let byteLength;
        let readOnly;
        if (typeof data === "string") {
          byteLength = Buffer.byteLength(data);
          readOnly = false;
        } else if (isBlob(data)) {
          byteLength = data.size;
          readOnly = false;
        } else {
          data = toBuffer(data);
          byteLength = data.length;
          readOnly = toBuffer.readOnly;
        }
        if (byteLength > 125) {
          throw new RangeError("The data size must not be greater than 125 bytes");
        }
        const options = {
          [kByteLength]: byteLength,
          fin: true,
          generateMask: this._generateMask,
          mask,
          maskBuffer: this._maskBuffer,
          opcode: 9,
          readOnly,
          rsv1: false
        };
        if (isBlob(data)) {
          if (this._state !== DEFAULT) {
            this.enqueue([this.getBlobData, data, false, options, cb]);
          } else {
            this.getBlobData(data, false, options, cb);
          }
        } else if (this._state !== DEFAULT) {
          this.enqueue([this.dispatch, data, false, options, cb]);
        } else {
          this.sendFrame(_Sender.frame(data, options), cb);
        }
      }
      /**
       * Sends a pong message to the other peer.
       *
       * @param {*} data The message to send
       * @param {Boolean} [mask=false] Specifies whether or not to mask `data`
       * @param {Function} [cb] Callback
       * @public
       */
      pong(data, mask, cb) {
        let byteLength;
        let readOnly;
        if (typeof data === "string") {
          byteLength = Buffer.byteLength(data);
          readOnly = false;
        } else if (isBlob(data)) {
          byteLength = data.size;
          readOnly = false;
        } else {
          data = toBuffer(data);
          byteLength = data.length;
          readOnly = toBuffer.readOnly;
        }
        if (byteLength > 125) {
          throw new RangeError("The data size must not be greater than 125 bytes");
        }
        const options = {
          [kByteLength]: byteLength,
          fin: true,
          generateMask: this._generateMask,
          mask,
          maskBuffer: this._maskBuffer,
          opcode: 10,
          readOnly,
          rsv1: false
        };
        if (isBlob(data)) {
          if (this._state !== DEFAULT) {
            this.enqueue([this.getBlobData, data, false, options, cb]);
          } else {
            this.getBlobData(data, false, options, cb);
          }
        } else if (this._state !== DEFAULT) {
          this.enqueue([this.dispatch, data, false, options, cb]);
        } else {
          this.sendFrame(_Sender.frame(data, options), cb);
        }
      }
      /**
       * Sends a data message to the other peer.
       *
       * @param {*} data The message to send
       * @param {Object} options Options object
       * @param {Boolean} [options.binary=false] Specifies whether `data` is binary
       *     or text
       * @param {Boolean} [options.compress=false] Specifies whether or not to
       *     compress `data`
       * @param {Boolean} [options.fin=false] Specifies whether the fragment is the
       *     last one
       * @param {Boolean} [options.mask=false] Specifies whether or not to mask
       *     `data`
       * @param {Function} [cb] Callback
       * @public
       */
      send(data, options, cb) {
        const perMessageDeflate = this._extensions[PerMessageDeflate.extensionName];
        let opcode = options.binary ? 2 : 1;
        let rsv1 = options.compress;
        let byteLength;
        let readOnly;
        if (typeof data === "string") {
          byteLength = Buffer.byteLength(data);
          readOnly = false;
        } else if (isBlob(data)) {
          byteLength = data.size;
          readOnly = false;
        } else {
          data = toBuffer(data);
          byteLength = data.length;
          readOnly = toBuffer.readOnly;
        }
        if (this._firstFragment) {
          this._firstFragment = false;
          if (rsv1 && perMessageDeflate && perMessageDeflate.params[perMessageDeflate._isServer ? "server_no_context_takeover" : "client_no_context_takeover"]) {
            rsv1 = byteLength >= perMessageDeflate._threshold;
          }
          this._compress = rsv1;
        } else {
          rsv1 = false;
          opcode = 0;
        }
        if (options.fin) this._firstFragment = true;
        const opts = {
          [kByteLength]: byteLength,
          fin: options.fin,
          generateMask: this._generateMask,
          mask: options.mask,
          maskBuffer: this._maskBuffer,
          opcode,
          readOnly,
          rsv1
        };
        if (isBlob(data)) {
          if (this._state !== DEFAULT) {
            this.enqueue([this.getBlobData, data, this._compress, opts, cb]);
          } else {
            this.getBlobData(data, this._compress, opts, cb);
          }
        } else if (this._state !== DEFAULT) {
          this.enqueue([this.dispatch, data, this._compress, opts, cb]);
        } else {
          this.dispatch(data, this._compress, opts, cb);
        }
      }
      /**
       * Gets the contents of a blob as binary data.
       *
       * @param {Blob} blob The blob
       * @param {Boolean} [compress=false] Specifies whether or not to compress
       *     the data
       * @param {Object} options Options object
       * @param {Boolean} [options.fin=false] Specifies whether or not to set the
       *     FIN bit
       * @param {Function} [options.generateMask] The function used to generate the
       *     masking key
       * @param {Boolean} [options.mask=false] Specifies whether or not to mask
       *     `data`
       * @param {Buffer} [options.maskBuffer] The buffer used to store the masking
       *     key
       * @param {Number} options.opcode The opcode
       * @param {Boolean} [options.readOnly=false] Specifies whether `data` can be
       *     modified
       * @param {Boolean} [options.rsv1=false] Specifies whether or not to set the
       *     RSV1 bit
       * @param {Function} [cb] Callback
       * @private
       */
      getBlobData(blob, compress, options, cb) {
        this._bufferedBytes += options[kByteLength];
        this._state = GET_BLOB_DATA;
        blob.arrayBuffer().then((arrayBuffer) => {
          if (this._socket.destroyed) {
            const err = new Error(
              "The socket was closed while the blob was being read"
            );
            process.nextTick(callCallbacks, this, err, cb);
            return;
          }
          this._bufferedBytes -= options[kByteLength];
          const data = toBuffer(arrayBuffer);
          if (!compress) {
            this._state = DEFAULT;
            this.sendFrame(_Sender.frame(data, options), cb);
            this.dequeue();
          } else {
            this.dispatch(data, compress, options, cb);
          }
        }).catch((err) => {
          process.nextTick(onError, this, err, cb);
        });
      }
      /**
       * Dispatches a message.
       *
       * @param {(Buffer|String)} data The message to send
       * @param {Boolean} [compress=false] Specifies whether or not to compress
       *     `data`
       * @param {Object} options Options object
       * @param {Boolean} [options.fin=false] Specifies whether or not to set the
       *     FIN bit
       * @param {Function} [options.generateMask] The function used to generate the
       *     masking key
       * @param {Boolean} [options.mask=false] Specifies whether or not to mask
       *     `data`
       * @param {Buffer} [options.maskBuffer] The buffer used to store the masking
       *     key
       * @param {Number} options.opcode The opcode
       * @param {Boolean} [options.readOnly=false] Specifies whether `data` can be
       *     modified
       * @param {Boolean} [options.rsv1=false] Specifies whether or not to set the
       *     RSV1 bit
       * @param {Function} [cb] Callback
       * @private
       */
      dispatch(data, compress, options, cb) {
        if (!compress) {
          this.sendFrame(_Sender.frame(data, options), cb);
          return;
        }
        const perMessageDeflate = this._extensions[PerMessageDeflate.extensionName];
        this._bufferedBytes += options[kByteLength];
        this._state = DEFLATING;
        perMessageDeflate.compress(data, options.fin, (_, buf) => {
          if (this._socket.destroyed) {
            const err = new Error(
              "The socket was closed while data was being compressed"
            );
            callCallbacks(this, err, cb);
            return;
          }
          this._bufferedBytes -= options[kByteLength];
          this._state = DEFAULT;
          options.readOnly = false;
          this.sendFrame(_Sender.frame(buf, options), cb);
          this.dequeue();
        });
      }
      /**
       * Executes queued send operations.
       *
       * @private
       */
      dequeue() {
        while (this._state === DEFAULT && this._queue.length) {
          const params = this._queue.shift();
          this._bufferedBytes -= params[3][kByteLength];
          Reflect.apply(params[0], this, params.slice(1));
        }
      }
      /**
       * Enqueues a send operation.
       *
       * @param {Array} params Send operation parameters.
       * @private
       */
      enqueue(params) {
        this._bufferedBytes += params[3][kByteLength];
        this._queue.push(params);
      }
      /**
       * Sends a frame.
       *
       * @param {(Buffer | String)[]} list The frame to send
       * @param {Function} [cb] Callback
       * @private
       */
      sendFrame(list2, cb) {
        if (list2.length === 2) {
          this._socket.cork();
          this._socket.write(list2[0]);
          this._socket.write(list2[1], cb);
          this._socket.uncork();
        } else {
          this._socket.write(list2[0], cb);
        }
      }
    };
    module2.exports = Sender;
    function callCallbacks(sender, err, cb) {
      if (typeof cb === "function") cb(err);
      for (let i = 0; i < sender._queue.length; i++) {
        const params = sender._queue[i];
        const callback = params[params.length - 1];
        if (typeof callback === "function") callback(err);
      }
    }
    function onError(sender, err, cb) {
      callCallbacks(sender, err, cb);
      sender.onerror(err);
    }
  }
});

// node_modules/ws/lib/event-target.js
var require_event_target = __commonJS({
  "node_modules/ws/lib/event-target.js"(exports2, module2) {
    "use strict";
    var { kForOnEventAttribute, kListener } = require_constants();
    var kCode = /* @__PURE__ */ Symbol("kCode");
    var kData = /* @__PURE__ */ Symbol("kData");
    var kError = /* @__PURE__ */ Symbol("kError");
    var kMessage = /* @__PURE__ */ Symbol("kMessage");
    var kReason = /* @__PURE__ */ Symbol("kReason");
    var kTarget = /* @__PURE__ */ Symbol("kTarget");
    var kType = /* @__PURE__ */ Symbol("kType");
    var kWasClean = /* @__PURE__ */ Symbol("kWasClean");
    var Event = class {
      /**
       * Create a new `Event`.
       *
       * @param {String} type The name of the event
       * @throws {TypeError} If the `type` argument is not specified
       */
      constructor(type) {
        this[kTarget] = null;
        this[kType] = type;
      }
      /**
       * @type {*}
       */
      get target() {
        return this[kTarget];
      }
      /**
       * @type {String}
       */
      get type() {
        return this[kType];
      }
    };
    Object.defineProperty(Event.prototype, "target", { enumerable: true });
    Object.defineProperty(Event.prototype, "type", { enumerable: true });
    var CloseEvent = class extends Event {
      /**
       * Create a new `CloseEvent`.
       *
       * @param {String} type The name of the event
       * @param {Object} [options] A dictionary object that allows for setting
       *     attributes via object members of the same name
       * @param {Number} [options.code=0] The status code explaining why the
       *     connection was closed
       * @param {String} [options.reason=''] A human-readable string explaining why
       *     the connection was closed
       * @param {Boolean} [options.wasClean=false] Indicates whether or not the
       *     connection was cleanly closed
       */
      constructor(type, options = {}) {
        super(type);
        this[kCode] = options.code === void 0 ? 0 : options.code;
        this[kReason] = options.reason === void 0 ? "" : options.reason;
        this[kWasClean] = options.wasClean === void 0 ? false : options.wasClean;
      }
      /**
       * @type {Number}
       */
      get code() {
        return this[kCode];
      }
      /**
       * @type {String}
       */
      get reason() {
        return this[kReason];
      }
      /**
       * @type {Boolean}
       */
      get wasClean() {
        return this[kWasClean];
      }
    };
    Object.defineProperty(CloseEvent.prototype, "code", { enumerable: true });
    Object.defineProperty(CloseEvent.prototype, "reason", { enumerable: true });
    Object.defineProperty(CloseEvent.prototype, "wasClean", { enumerable: true });
    var ErrorEvent = class extends Event {
      /**
       * Create a new `ErrorEvent`.
       *
       * @param {String} type The name of the event
       * @param {Object} [options] A dictionary object that allows for setting
       *     attributes via object members of the same name
       * @param {*} [options.error=null] The error that generated this event
       * @param {String} [options.message=''] The error message
       */
      constructor(type, options = {}) {
        super(type);
        this[kError] = options.error === void 0 ? null : options.error;
        this[kMessage] = options.message === void 0 ? "" : options.message;
      }
      /**
       * @type {*}
       */
      get error() {
        return this[kError];
      }
      /**
       * @type {String}
       */
      get message() {
        return this[kMessage];
      }
    };
    Object.defineProperty(ErrorEvent.prototype, "error", { enumerable: true });
    Object.defineProperty(ErrorEvent.prototype, "message", { enumerable: true });
    var MessageEvent = class extends Event {
      /**
       * Create a new `MessageEvent`.
       *
       * @param {String} type The name of the event
       * @param {Object} [options] A dictionary object that allows for setting
       *     attributes via object members of the same name
       * @param {*} [options.data=null] The message content
       */
      constructor(type, options = {}) {
        super(type);
        this[kData] = options.data === void 0 ? null : options.data;
      }
      /**
       * @type {*}
       */
      get data() {
        return this[kData];
      }
    };
    Object.defineProperty(MessageEvent.prototype, "data", { enumerable: true });
    var EventTarget = {
      /**
       * Register an event listener.
       *
       * @param {String} type A string representing the event type to listen for
       * @param {(Function|Object)} handler The listener to add
       * @param {Object} [options] An options object specifies characteristics about
       *     the event listener
       * @param {Boolean} [options.once=false] A `Boolean` indicating that the
       *     listener should be invoked at most once after being added. If `true`,
       *     the listener would be automatically removed when invoked.
       * @public
       */
      addEventListener(type, handler, options = {}) {
        for (const listener of this.listeners(type)) {
          if (!options[kForOnEventAttribute] && listener[kListener] === handler && !listener[kForOnEventAttribute]) {
            return;
          }
        }
        let wrapper;
        if (type === "message") {
          wrapper = function onMessage(data, isBinary) {
            const event = new MessageEvent("message", {
              data: isBinary ? data : data.toString()
            });
            event[kTarget] = this;
            callListener(handler, this, event);
          };
        } else if (type === "close") {
          wrapper = function onClose(code, message) {
            const event = new CloseEvent("close", {
              code,
              reason: message.toString(),
              wasClean: this._closeFrameReceived && this._closeFrameSent
            });
            event[kTarget] = this;
            callListener(handler, this, event);
          };
        } else if (type === "error") {
          wrapper = function onError(error) {
            const event = new ErrorEvent("error", {
              error,
              message: error.message
            });
            event[kTarget] = this;
            callListener(handler, this, event);
          };
        } else if (type === "open") {
          wrapper = function onOpen() {
            const event = new Event("open");
            event[kTarget] = this;
            callListener(handler, this, event);
          };
        } else {
          return;
        }
        wrapper[kForOnEventAttribute] = !!options[kForOnEventAttribute];
        wrapper[kListener] = handler;
        if (options.once) {
          this.once(type, wrapper);
        } else {
          this.on(type, wrapper);
        }
      },
      /**
       * Remove an event listener.
       *
       * @param {String} type A string representing the event type to remove
       * @param {(Function|Object)} handler The listener to remove
       * @public
       */
      removeEventListener(type, handler) {
        for (const listener of this.listeners(type)) {
          if (listener[kListener] === handler && !listener[kForOnEventAttribute]) {
            this.removeListener(type, listener);
            break;
          }
        }
      }
    };
    module2.exports = {
      CloseEvent,
      ErrorEvent,
      Event,
      EventTarget,
      MessageEvent
    };
    function callListener(listener, thisArg, event) {
      if (typeof listener === "object" && listener.handleEvent) {
        listener.handleEvent.call(listener, event);
      } else {
        listener.call(thisArg, event);
      }
    }
  }
});

// node_modules/ws/lib/extension.js
var require_extension = __commonJS({
  "node_modules/ws/lib/extension.js"(exports2, module2) {
    "use strict";
    var { tokenChars } = require_validation();
    function push(dest, name, elem) {
      if (dest[name] === void 0) dest[name] = [elem];
      else dest[name].push(elem);
    }
    function parse3(header) {
      const offers = /* @__PURE__ */ Object.create(null);
      let params = /* @__PURE__ */ Object.create(null);
      let mustUnescape = false;
      let isEscaping = false;
      let inQuotes = false;
      let extensionName;
      let paramName;
      let start = -1;
      let code = -1;
      let end2 = -1;
      let i = 0;
      for (; i < header.length; i++) {
        code = header.charCodeAt(i);
        if (extensionName === void 0) {
          if (end2 === -1 && tokenChars[code] === 1) {
            if (start === -1) start = i;
          } else if (i !== 0 && (code === 32 || code === 9)) {
            if (end2 === -1 && start !== -1) end2 = i;
          } else if (code === 59 || code === 44) {
            if (start === -1) {
              throw new SyntaxError(`Unexpected character at index ${i}`);
            }
            if (end2 === -1) end2 = i;
            const name = header.slice(start, end2);
            if (code === 44) {
              push(offers, name, params);
              params = /* @__PURE__ */ Object.create(null);
            } else {
              extensionName = name;
            }
            start = end2 = -1;
          } else {
            throw new SyntaxError(`Unexpected character at index ${i}`);
          }
        } else if (paramName === void 0) {
          if (end2 === -1 && tokenChars[code] === 1) {
            if (start === -1) start = i;
          } else if (code === 32 || code === 9) {
            if (end2 === -1 && start !== -1) end2 = i;
          } else if (code === 59 || code === 44) {
            if (start === -1) {
              throw new SyntaxError(`Unexpected character at index ${i}`);
            }
            if (end2 === -1) end2 = i;
            push(params, header.slice(start, end2), true);
            if (code === 44) {
              push(offers, extensionName, params);
              params = /* @__PURE__ */ Object.create(null);
              extensionName = void 0;
            }
            start = end2 = -1;
          } else if (code === 61 && start !== -1 && end2 === -1) {
            paramName = header.slice(start, i);
            start = end2 = -1;
          } else {
            throw new SyntaxError(`Unexpected character at index ${i}`);
          }
        } else {
          if (isEscaping) {
            if (tokenChars[code] !== 1) {
              throw new SyntaxError(`Unexpected character at index ${i}`);
            }
            if (start === -1) start = i;
            else if (!mustUnescape) mustUnescape = true;
            isEscaping = false;
          } else if (inQuotes) {
            if (tokenChars[code] === 1) {
              if (start === -1) start = i;
            } else if (code === 34 && start !== -1) {
              inQuotes = false;
              end2 = i;
            } else if (code === 92) {
              isEscaping = true;
            } else {
              throw new SyntaxError(`Unexpected character at index ${i}`);
            }
          } else if (code === 34 && header.charCodeAt(i - 1) === 61) {
            inQuotes = true;
          } else if (end2 === -1 && tokenChars[code] === 1) {
            if (start === -1) start = i;
          } else if (start !== -1 && (code === 32 || code === 9)) {
            if (end2 === -1) end2 = i;
          } else if (code === 59 || code === 44) {
            if (start === -1) {
              throw new SyntaxError(`Unexpected character at index ${i}`);
            }
            if (end2 === -1) end2 = i;
            let value = header.slice(start, end2);
            if (mustUnescape) {
              value = value.replace(/\\/g, "");
              mustUnescape = false;
            }
            push(params, paramName, value);
            if (code === 44) {
              push(offers, extensionName, params);
              params = /* @__PURE__ */ Object.create(null);
              extensionName = void 0;
            }
            paramName = void 0;
            start = end2 = -1;
          } else {
            throw new SyntaxError(`Unexpected character at index ${i}`);
          }
        }
      }
      if (start === -1 || inQuotes || code === 32 || code === 9) {
        throw new SyntaxError("Unexpected end of input");
      }
      if (end2 === -1) end2 = i;
      const token = header.slice(start, end2);
      if (extensionName === void 0) {
        push(offers, token, params);
      } else {
        if (paramName === void 0) {
          push(params, token, true);
        } else if (mustUnescape) {
          push(params, paramName, token.replace(/\\/g, ""));
        } else {
          push(params, paramName, token);
        }
        push(offers, extensionName, params);
      }
      return offers;
    }
    function format(extensions) {
      return Object.keys(extensions).map((extension) => {
        let configurations = extensions[extension];
        if (!Array.isArray(configurations)) configurations = [configurations];
        return configurations.map((params) => {
          return [extension].concat(
            Object.keys(params).map((k) => {
              let values = params[k];
              if (!Array.isArray(values)) values = [values];
              return values.map((v) => v === true ? k : `${k}=${v}`).join("; ");
            })
          ).join("; ");
        }).join(", ");
      }).join(", ");
    }
    module2.exports = { format, parse: parse3 };
  }
});

// node_modules/ws/lib/websocket.js
var require_websocket = __commonJS({
  "node_modules/ws/lib/websocket.js"(exports2, module2) {
    "use strict";
    var EventEmitter = require("events");
    var https = require("https");
    var http = require("http");
    var net = require("net");
    var querystring = require("querystring");
    var tls = require("tls");
    var { randomBytes: randomBytes3, createHash: createHash2 } = require("crypto");
    var { Duplex, Readable } = require("stream");
    var { URL: URL2 } = require("url");
    var PerMessageDeflate = require_permessage_deflate();
    var Receiver = require_receiver();
    var Sender = require_sender();
    var { isBlob } = require_validation();
    var {
      BINARY_TYPES,
      CLOSE_TIMEOUT,
      EMPTY_BUFFER,
      GUID,
      kForOnEventAttribute,
      kListener,
      kStatusCode,
      kWebSocket,
      NOOP
    } = require_constants();
    var {
      EventTarget: { addEventListener, removeEventListener }
    } = require_event_target();
    var { format, parse: parse3 } = require_extension();
    var { toBuffer } = require_buffer_util();
    var kAborted = /* @__PURE__ */ Symbol("kAborted");
    var protocolVersions = [8, 13];
    var readyStates = ["CONNECTING", "OPEN", "CLOSING", "CLOSED"];
    var subprotocolRegex = /^[!#$%&'*+\-.0-9A-Z^_`|a-z~]+$/;
    var WebSocket = class _WebSocket extends EventEmitter {
      /**
       * Create a new `WebSocket`.
       *
       * @param {(String|URL)} address The URL to which to connect
       * @param {(String|String[])} [protocols] The subprotocols
       * @param {Object} [options] Connection options
       */
      constructor(address, protocols, options) {
        super();
        this._binaryType = BINARY_TYPES[0];
        this._closeCode = 1006;
        this._closeFrameReceived = false;
        this._closeFrameSent = false;
        this._closeMessage = EMPTY_BUFFER;
        this._closeTimer = null;
        this._errorEmitted = false;
        this._extensions = {};
        this._paused = false;
        this._protocol = "";
        this._readyState = _WebSocket.CONNECTING;
        this._receiver = null;
        this._sender = null;
        this._socket = null;
        if (address !== null) {
          this._bufferedAmount = 0;
          this._isServer = false;
          this._redirects = 0;
          if (protocols === void 0) {
            if (!options || options.protocols === void 0) {
              protocols = [];
            } else if (Array.isArray(options.protocols)) {
              protocols = options.protocols;
            } else {
              protocols = [options.protocols];
            }
          } else if (!Array.isArray(protocols)) {
            if (typeof protocols === "object" && protocols !== null) {
              options = protocols;
              if (options.protocols === void 0) {
                protocols = [];
              } else if (Array.isArray(options.protocols)) {
                protocols = options.protocols;
              } else {
                protocols = [options.protocols];
              }
            } else {
              protocols = [protocols];
            }
          }
          options = initAsClient(this, address, protocols, options);
        } else {
          this._isServer = true;
        }
        if (options.autoPong) {
          this._autoPong = true;
          this._autoPongComplete = () => autoPongComplete(this);
          this._pendingAutoPongs = 0;
          this._maxPendingAutoPongs = options.maxPendingAutoPongs | 0;
        }
        this._closeTimeout = options.closeTimeout;
      }
      /**
       * For historical reasons, the custom "nodebuffer" type is used by the default
       * instead of "blob".
       *
       * @type {String}
       */
      get binaryType() {
        return this._binaryType;
      }
      set binaryType(type) {
        if (!BINARY_TYPES.includes(type)) return;
        this._binaryType = type;
        if (this._receiver) this._receiver._binaryType = type;
      }
      /**
       * @type {Number}
       */
      get bufferedAmount() {
        if (!this._socket) return this._bufferedAmount;
        return this._socket._writableState.length + this._sender._bufferedBytes;
      }
      /**
       * @type {String}
       */
      get extensions() {
        return Object.keys(this._extensions).join();
      }
      /**
       * @type {Boolean}
       */
      get isPaused() {
        return this._paused;
      }
      /**
       * @type {Function}
       */
      /* istanbul ignore next */
      get onclose() {
        return null;
      }
      /**
       * @type {Function}
       */
      /* istanbul ignore next */
      get onerror() {
        return null;
      }
      /**
       * @type {Function}
       */
      /* istanbul ignore next */
      get onopen() {
        return null;
      }
      /**
       * @type {Function}
       */
      /* istanbul ignore next */
      get onmessage() {
        return null;
      }
      /**
       * @type {String}
       */
      get protocol() {
        return this._protocol;
      }
      /**
       * @type {Number}
       */
      get readyState() {
        return this._readyState;
      }
      /**
       * @type {String}
       */
      get url() {
        return this._url;
      }
      /**
       * Set up the socket and the internal resources.
       *
       * @param {Duplex} socket The network socket between the server and client
       * @param {Buffer} head The first packet of the upgraded stream
       * @param {Object} options Options object
       * @param {Boolean} [options.allowSynchronousEvents=false] Specifies whether
       *     any of the `'message'`, `'ping'`, and `'pong'` events can be emitted
       *     multiple times in the same tick
       * @param {Function} [options.generateMask] The function used to generate the
       *     masking key
       * @param {Number} [options.maxBufferedChunks=0] The maximum number of
       *     buffered data chunks
       * @param {Number} [options.maxFragments=0] The maximum number of message
       *     fragments
       * @param {Number} [options.maxPayload=0] The maximum allowed message size
       * @param {Boolean} [options.skipUTF8Validation=false] Specifies whether or
       *     not to skip UTF-8 validation for text and close messages
       * @private
       */
      setSocket(socket, head, options) {
        const receiver = new Receiver({
          allowSynchronousEvents: options.allowSynchronousEvents,
          binaryType: this.binaryType,
          extensions: this._extensions,
          isServer: this._isServer,
          maxBufferedChunks: options.maxBufferedChunks,
          maxFragments: options.maxFragments,
          maxPayload: options.maxPayload,
          skipUTF8Validation: options.skipUTF8Validation
        });
        const sender = new Sender(socket, this._extensions, options.generateMask);
        this._receiver = receiver;
        this._sender = sender;
        this._socket = socket;
        receiver[kWebSocket] = this;
        sender[kWebSocket] = this;
        socket[kWebSocket] = this;
        receiver.on("conclude", receiverOnConclude);
        receiver.on("drain", receiverOnDrain);
        receiver.on("error", receiverOnError);
        receiver.on("message", receiverOnMessage);
        receiver.on("ping", receiverOnPing);
        receiver.on("pong", receiverOnPong);
        sender.onerror = senderOnError;
        if (socket.setTimeout) socket.setTimeout(0);
        if (socket.setNoDelay) socket.setNoDelay();
        if (head.length > 0) socket.unshift(head);
        socket.on("close", socketOnClose);
        socket.on("data", socketOnData);
        socket.on("end", socketOnEnd);
        socket.on("error", socketOnError);
        this._readyState = _WebSocket.OPEN;
        this.emit("open");
      }
      /**
       * Emit the `'close'` event.
       *
       * @private
       */
      emitClose() {
        if (!this._socket) {
          this._readyState = _WebSocket.CLOSED;
          this.emit("close", this._closeCode, this._closeMessage);
          return;
        }
        if (this._extensions[PerMessageDeflate.extensionName]) {
          this._extensions[PerMessageDeflate.extensionName].cleanup();
        }
        this._receiver.removeAllListeners();
        this._readyState = _WebSocket.CLOSED;
        this.emit("close", this._closeCode, this._closeMessage);
      }
      /**
       * Start a closing handshake.
       *
       *          +----------+   +-----------+   +----------+
       *     - - -|ws.close()|-->|close frame|-->|ws.close()|- - -
       *    |     +----------+   +-----------+   +----------+     |
       *          +----------+   +-----------+         |
       * CLOSING  |ws.close()|<--|close frame|<--+-----+       CLOSING
       *          +----------+   +-----------+   |
       *    |           |                        |   +---+        |
       *                +------------------------+-->|fin| - - - -
       *    |         +---+                      |   +---+
       *     - - - - -|fin|<---------------------+
       *              +---+
       *
       * @param {Number} [code] Status code explaining why the connection is closing
       * @param {(String|Buffer)} [data] The reason why the connection is
       *     closing
       * @public
       */
      close(code, data) {
        if (this.readyState === _WebSocket.CLOSED) return;
        if (this.readyState === _WebSocket.CONNECTING) {
          const msg = "WebSocket was closed before the connection was established";
          abortHandshake(this, this._req, msg);
          return;
        }
        if (this.readyState === _WebSocket.CLOSING) {
          if (this._closeFrameSent && (this._closeFrameReceived || this._receiver._writableState.errorEmitted)) {
            this._socket.end();
          }
          return;
        }
        this._sender.close(code, data, !this._isServer, (err) => {
          if (err) return;
          this._closeFrameSent = true;
          if (this._closeFrameReceived || this._receiver._writableState.errorEmitted) {
            this._socket.end();
          }
        });
        this._readyState = _WebSocket.CLOSING;
        setCloseTimer(this);
      }
      /**
       * Pause the socket.
       *
       * @public
       */
      pause() {
        if (this.readyState === _WebSocket.CONNECTING || this.readyState === _WebSocket.CLOSED) {
          return;
        }
        this._paused = true;
        this._socket.pause();
      }
      /**
       * Send a ping.
       *
       * @param {*} [data] The data to send
       * @param {Boolean} [mask] Indicates whether or not to mask `data`
       * @param {Function} [cb] Callback which is executed when the ping is sent
       * @public
       */
      ping(data, mask, cb) {
        if (this.readyState === _WebSocket.CONNECTING) {
          throw new Error("WebSocket is not open: readyState 0 (CONNECTING)");
        }
        if (typeof data === "function") {
          cb = data;
          data = mask = void 0;
        } else if (typeof mask === "function") {
          cb = mask;
          mask = void 0;
        }
        if (typeof data === "number") data = data.toString();
        if (this.readyState !== _WebSocket.OPEN) {
          sendAfterClose(this, data, cb);
          return;
        }
        if (mask === void 0) mask = !this._isServer;
        this._sender.ping(data || EMPTY_BUFFER, mask, cb);
      }
      /**
       * Send a pong.
       *
       * @param {*} [data] The data to send
       * @param {Boolean} [mask] Indicates whether or not to mask `data`
       * @param {Function} [cb] Callback which is executed when the pong is sent
       * @public
       */
      pong(data, mask, cb) {
        if (this.readyState === _WebSocket.CONNECTING) {
          throw new Error("WebSocket is not open: readyState 0 (CONNECTING)");
        }
        if (typeof data === "function") {
          cb = data;
          data = mask = void 0;
        } else if (typeof mask === "function") {
          cb = mask;
          mask = void 0;
        }
        if (typeof data === "number") data = data.toString();
        if (this.readyState !== _WebSocket.OPEN) {
          sendAfterClose(this, data, cb);
          return;
        }
        if (mask === void 0) mask = !this._isServer;
        this._sender.pong(data || EMPTY_BUFFER, mask, cb);
      }
      /**
       * Resume the socket.
       *
       * @public
       */
      resume() {
        if (this.readyState === _WebSocket.CONNECTING || this.readyState === _WebSocket.CLOSED) {
          return;
        }
        this._paused = false;
        if (!this._receiver._writableState.needDrain) this._socket.resume();
      }
      /**
       * Send a data message.
       *
       * @param {*} data The message to send
       * @param {Object} [options] Options object
       * @param {Boolean} [options.binary] Specifies whether `data` is binary or
       *     text
       * @param {Boolean} [options.compress] Specifies whether or not to compress
       *     `data`
       * @param {Boolean} [options.fin=true] Specifies whether the fragment is the
       *     last one
       * @param {Boolean} [options.mask] Specifies whether or not to mask `data`
       * @param {Function} [cb] Callback which is executed when data is written out
       * @public
       */
      send(data, options, cb) {
        if (this.readyState === _WebSocket.CONNECTING) {
          throw new Error("WebSocket is not open: readyState 0 (CONNECTING)");
        }
        if (typeof options === "function") {
          cb = options;
          options = {};
        }
        if (typeof data === "number") data = data.toString();
        if (this.readyState !== _WebSocket.OPEN) {
          sendAfterClose(this, data, cb);
          return;
        }
        const opts = {
          binary: typeof data !== "string",
          mask: !this._isServer,
          compress: true,
          fin: true,
          ...options
        };
        if (!this._extensions[PerMessageDeflate.extensionName]) {
          opts.compress = false;
        }
        this._sender.send(data || EMPTY_BUFFER, opts, cb);
      }
      /**
       * Forcibly close the connection.
       *
       * @public
       */
      terminate() {
        if (this.readyState === _WebSocket.CLOSED) return;
        if (this.readyState === _WebSocket.CONNECTING) {
          const msg = "WebSocket was closed before the connection was established";
          abortHandshake(this, this._req, msg);
          return;
        }
        if (this._socket) {
          this._readyState = _WebSocket.CLOSING;
          this._socket.destroy();
        }
      }
    };
    Object.defineProperty(WebSocket, "CONNECTING", {
      enumerable: true,
      value: readyStates.indexOf("CONNECTING")
    });
    Object.defineProperty(WebSocket.prototype, "CONNECTING", {
      enumerable: true,
      value: readyStates.indexOf("CONNECTING")
    });
    Object.defineProperty(WebSocket, "OPEN", {
      enumerable: true,
      value: readyStates.indexOf("OPEN")
    });
    Object.defineProperty(WebSocket.prototype, "OPEN", {
      enumerable: true,
      value: readyStates.indexOf("OPEN")
    });
    Object.defineProperty(WebSocket, "CLOSING", {
      enumerable: true,
      value: readyStates.indexOf("CLOSING")
    });
    Object.defineProperty(WebSocket.prototype, "CLOSING", {
      enumerable: true,
      value: readyStates.indexOf("CLOSING")
    });
    Object.defineProperty(WebSocket, "CLOSED", {
      enumerable: true,
      value: readyStates.indexOf("CLOSED")
    });
    Object.defineProperty(WebSocket.prototype, "CLOSED", {
      enumerable: true,
      value: readyStates.indexOf("CLOSED")
    });
    [
      "binaryType",
      "bufferedAmount",
      "extensions",
      "isPaused",
      "protocol",
      "readyState",
      "url"
    ].forEach((property) => {
      Object.defineProperty(WebSocket.prototype, property, { enumerable: true });
    });
    ["open", "error", "close", "message"].forEach((method) => {
      Object.defineProperty(WebSocket.prototype, `on${method}`, {
        enumerable: true,
        get() {
          for (const listener of this.listeners(method)) {
            if (listener[kForOnEventAttribute]) return listener[kListener];
          }
          return null;
        },
        set(handler) {
          for (const listener of this.listeners(method)) {
            if (listener[kForOnEventAttribute]) {
              this.removeListener(method, listener);
              break;
            }
          }
          if (typeof handler !== "function") return;
          this.addEventListener(method, handler, {
            [kForOnEventAttribute]: true
          });
        }
      });
    });
    WebSocket.prototype.addEventListener = addEventListener;
    WebSocket.prototype.removeEventListener = removeEventListener;
    module2.exports = WebSocket;
    function initAsClient(websocket, address, protocols, options) {
      const opts = {
        allowSynchronousEvents: true,
        autoPong: true,
        closeTimeout: CLOSE_TIMEOUT,
        protocolVersion: protocolVersions[1],
        maxBufferedChunks: 256 * 1024,
        maxFragments: 16 * 1024,
        maxPayload: 100 * 1024 * 1024,
        maxPendingAutoPongs: 60,
        skipUTF8Validation: false,
        perMessageDeflate: true,
        followRedirects: false,
        maxRedirects: 10,
        ...options,
        socketPath: void 0,
        hostname: void 0,
        protocol: void 0,
        protocols: void 0,
        timeout: void 0,
        method: "GET",
        host: void 0,
        path: void 0,
        port: void 0
      };
      if (!protocolVersions.includes(opts.protocolVersion)) {
        throw new RangeError(
          `Unsupported protocol version: ${opts.protocolVersion} (supported versions: ${protocolVersions.join(", ")})`
        );
      }
      let parsedUrl;
      if (address instanceof URL2) {
        parsedUrl = address;
      } else {
        try {
          parsedUrl = new URL2(address);
        } catch {
          throw new SyntaxError(`Invalid URL: ${address}`);
        }
      }
      if (parsedUrl.protocol === "http:" || parsedUrl.protocol === "https:") {
        parsedUrl = new URL2(parsedUrl);
        parsedUrl.protocol = parsedUrl.protocol === "http:" ? "ws:" : "wss:";
      }
      websocket._url = parsedUrl.href;
      const isSecure = parsedUrl.protocol === "wss:";
      const isIpcUrl = parsedUrl.protocol === "ws+unix:";
      let invalidUrlMessage;
      if (parsedUrl.protocol !== "ws:" && !isSecure && !isIpcUrl) {
        invalidUrlMessage = `The URL's protocol must be one of "ws:", "wss:", "http:", "https:", or "ws+unix:"`;
      } else if (isIpcUrl && !parsedUrl.pathname) {
        invalidUrlMessage = "The URL's pathname is empty";
      } else if (parsedUrl.hash) {
        invalidUrlMessage = "The URL contains a fragment identifier";
      }
      if (invalidUrlMessage) {
        const err = new SyntaxError(invalidUrlMessage);
        if (websocket._redirects === 0) {
          throw err;
        } else {
          emitErrorAndClose(websocket, err);
          return;
        }
      }
      const defaultPort = isSecure ? 443 : 80;
      const key = randomBytes3(16).toString("base64");
      const request2 = isSecure ? https.request : http.request;
      const protocolSet = /* @__PURE__ */ new Set();
      let perMessageDeflate;
      opts.createConnection = opts.createConnection || (isSecure ? tlsConnect : netConnect);
      opts.defaultPort = opts.defaultPort || defaultPort;
      opts.port = parsedUrl.port || defaultPort;
      opts.host = parsedUrl.hostname.startsWith("[") ? parsedUrl.hostname.slice(1, -1) : parsedUrl.hostname;
      opts.headers = {
        ...opts.headers,
        "Sec-WebSocket-Version": opts.protocolVersion,
        "Sec-WebSocket-Key": key,
        Connection: "Upgrade",
        Upgrade: "websocket"
      };
      opts.path = parsedUrl.pathname + parsedUrl.search;
      opts.timeout = opts.handshakeTimeout;
      if (opts.perMessageDeflate) {
        perMessageDeflate = new PerMessageDeflate({
          ...opts.perMessageDeflate,
          isServer: false,
          maxPayload: opts.maxPayload
        });
        opts.headers["Sec-WebSocket-Extensions"] = format({
          [PerMessageDeflate.extensionName]: perMessageDeflate.offer()
        });
      }
      if (protocols.length) {
        for (const protocol of protocols) {
          if (typeof protocol !== "string" || !subprotocolRegex.test(protocol) || protocolSet.has(protocol)) {
            throw new SyntaxError(
              "An invalid or duplicated subprotocol was specified"
            );
          }
          protocolSet.add(protocol);
        }
        opts.headers["Sec-WebSocket-Protocol"] = protocols.join(",");
      }
      if (opts.origin) {
        if (opts.protocolVersion < 13) {
          opts.headers["Sec-WebSocket-Origin"] = opts.origin;
        } else {
          opts.headers.Origin = opts.origin;
        }
      }
      if (parsedUrl.username || parsedUrl.password) {
        const username = querystring.unescape(parsedUrl.username);
        const password = querystring.unescape(parsedUrl.password);
        opts.auth = `${username}:${password}`;
      }
      if (isIpcUrl) {
        const i = opts.path.indexOf(":");
        if (i === -1) {
          opts.socketPath = opts.path;
          opts.path = "";
        } else {
          opts.socketPath = opts.path.slice(0, i);
          opts.path = opts.path.slice(i + 1);
        }
      }
      let req;
      if (opts.followRedirects) {
        if (websocket._redirects === 0) {
          websocket._originalIpc = isIpcUrl;
          websocket._originalSecure = isSecure;
          websocket._originalHostOrSocketPath = isIpcUrl ? opts.socketPath : parsedUrl.host;
          const headers = options && options.headers;
          options = { ...options, headers: {} };
          if (headers) {
            for (const [key2, value] of Object.entries(headers)) {
              options.headers[key2.toLowerCase()] = value;
            }
          }
        } else if (websocket.listenerCount("redirect") === 0) {
          const isSameHost = isIpcUrl ? websocket._originalIpc ? opts.socketPath === websocket._originalHostOrSocketPath : false : websocket._originalIpc ? false : parsedUrl.host === websocket._originalHostOrSocketPath;
          if (!isSameHost || websocket._originalSecure && !isSecure) {
            delete opts.headers.authorization;
            delete opts.headers.cookie;
            if (!isSameHost) delete opts.headers.host;
            opts.auth = void 0;
          }
        }
        if (opts.auth && !options.headers.authorization) {
          options.headers.authorization = "Basic " + Buffer.from(opts.auth).toString("base64");
        }
        req = websocket._req = request2(opts);
        if (websocket._redirects) {
          websocket.emit("redirect", websocket.url, req);
        }
      } else {
        req = websocket._req = request2(opts);
      }
      if (opts.timeout) {
        req.on("timeout", () => {
          abortHandshake(websocket, req, "Opening handshake has timed out");
        });
      }
      req.on("error", (err) => {
        if (req === null || req[kAborted]) return;
        req = websocket._req = null;
        emitErrorAndClose(websocket, err);
      });
      req.on("response", (res) => {
        const location = res.headers.location;
        const statusCode = res.statusCode;
        if (location && opts.followRedirects && statusCode >= 300 && statusCode < 400) {
          if (++websocket._redirects > opts.maxRedirects) {
            abortHandshake(websocket, req, "Maximum redirects exceeded");
            return;
          }
          req.abort();
          let addr;
          try {
            addr = new URL2(location, address);
          } catch (e) {
            const err = new SyntaxError(`Invalid URL: ${location}`);
            emitErrorAndClose(websocket, err);
            return;
          }
          initAsClient(websocket, addr, protocols, options);
        } else if (!websocket.emit("unexpected-response", req, res)) {
          abortHandshake(
            websocket,
            req,
            `Unexpected server response: ${res.statusCode}`
          );
        }
      });
      req.on("upgrade", (res, socket, head) => {
        websocket.emit("upgrade", res);
        if (websocket.readyState !== WebSocket.CONNECTING) return;
        req = websocket._req = null;
        const upgrade = res.headers.upgrade;
        if (upgrade === void 0 || upgrade.toLowerCase() !== "websocket") {
          abortHandshake(websocket, socket, "Invalid Upgrade header");
          return;
        }
        const digest = createHash2("sha1").update(key + GUID).digest("base64");
        if (res.headers["sec-websocket-accept"] !== digest) {
          abortHandshake(websocket, socket, "Invalid Sec-WebSocket-Accept header");
          return;
        }
        const serverProt = res.headers["sec-websocket-protocol"];
        let protError;
        if (serverProt !== void 0) {
          if (!protocolSet.size) {
            protError = "Server sent a subprotocol but none was requested";
          } else if (!protocolSet.has(serverProt)) {
            protError = "Server sent an invalid subprotocol";
          }
        } else if (protocolSet.size) {
          protError = "Server sent no subprotocol";
        }
        if (protError) {
          abortHandshake(websocket, socket, protError);
          return;
        }
        if (serverProt) websocket._protocol = serverProt;
        const secWebSocketExtensions = res.headers["sec-websocket-extensions"];
        if (secWebSocketExtensions !== void 0) {
          if (!perMessageDeflate) {
            const message = "Server sent a Sec-WebSocket-Extensions header but no extension was requested";
            abortHandshake(websocket, socket, message);
            return;
          }
          let extensions;
          try {
            extensions = parse3(secWebSocketExtensions);
          } catch (err) {
            const message = "Invalid Sec-WebSocket-Extensions header";
            abortHandshake(websocket, socket, message);
            return;
          }
          const extensionNames = Object.keys(extensions);
          if (extensionNames.length !== 1 || extensionNames[0] !== PerMessageDeflate.extensionName) {
            const message = "Server indicated an extension that was not requested";
            abortHandshake(websocket, socket, message);
            return;
          }
          try {
            perMessageDeflate.accept(extensions[PerMessageDeflate.extensionName]);
          } catch (err) {
            const message = "Invalid Sec-WebSocket-Extensions header";
            abortHandshake(websocket, socket, message);
            return;
          }
          websocket._extensions[PerMessageDeflate.extensionName] = perMessageDeflate;
        }
        websocket.setSocket(socket, head, {
          allowSynchronousEvents: opts.allowSynchronousEvents,
          generateMask: opts.generateMask,
          maxBufferedChunks: opts.maxBufferedChunks,
          maxFragments: opts.maxFragments,
          maxPayload: opts.maxPayload,
          skipUTF8Validation: opts.skipUTF8Validation
        });
      });
      if (opts.finishRequest) {
        opts.finishRequest(req, websocket);
      } else {
        req.end();
      }
      return opts;
    }
    function emitErrorAndClose(websocket, err) {
      websocket._readyState = WebSocket.CLOSING;
      websocket._errorEmitted = true;
      websocket.emit("error", err);
      websocket.emitClose();
    }
    function netConnect(options) {
      options.path = options.socketPath;
      return net.connect(options);
    }
    function tlsConnect(options) {
      options.path = void 0;
      if (!options.servername && options.servername !== "") {
        options.servername = net.isIP(options.host) ? "" : options.host;
      }
      return tls.connect(options);
    }
    function abortHandshake(websocket, stream, message) {
      websocket._readyState = WebSocket.CLOSING;
      const err = new Error(message);
      Error.captureStackTrace(err, abortHandshake);
      if (stream.setHeader) {
        stream[kAborted] = true;
        stream.abort();
        if (stream.socket && !stream.socket.destroyed) {
          stream.socket.destroy();
        }
        process.nextTick(emitErrorAndClose, websocket, err);
      } else {
        stream.destroy(err);
        stream.once("error", websocket.emit.bind(websocket, "error"));
        stream.once("close", websocket.emitClose.bind(websocket));
      }
    }
    function sendAfterClose(websocket, data, cb) {
      if (data) {
        const length = isBlob(data) ? data.size : toBuffer(data).length;
        if (websocket._socket) websocket._sender._bufferedBytes += length;
        else websocket._bufferedAmount += length;
      }
      if (cb) {
        const err = new Error(
          `WebSocket is not open: readyState ${websocket.readyState} (${readyStates[websocket.readyState]})`
        );
        process.nextTick(cb, err);
      }
    }
    function receiverOnConclude(code, reason) {
      const websocket = this[kWebSocket];
      websocket._closeFrameReceived = true;
      websocket._closeCode = code;
      if (reason.length === 0) {
        websocket._closeMessage = EMPTY_BUFFER;
      } else {
        websocket._closeMessage = Buffer.allocUnsafeSlow(reason.length);
        websocket._closeMessage.set(reason);
      }
      if (websocket._socket[kWebSocket] === void 0) return;
      websocket._socket.removeListener("data", socketOnData);
      process.nextTick(resume, websocket._socket);
      if (code === 1005) websocket.close();
      else websocket.close(code, reason);
    }
    function receiverOnDrain() {
      const websocket = this[kWebSocket];
      if (!websocket.isPaused) websocket._socket.resume();
    }
    function receiverOnError(err) {
      const websocket = this[kWebSocket];
      if (websocket._socket[kWebSocket] !== void 0) {
        websocket._socket.removeListener("data", socketOnData);
        process.nextTick(resume, websocket._socket);
        websocket.close(err[kStatusCode]);
      }
      if (!websocket._errorEmitted) {
        websocket._errorEmitted = true;
        websocket.emit("error", err);
      }
    }
    function receiverOnFinish() {
      this[kWebSocket].emitClose();
    }
    function receiverOnMessage(data, isBinary) {
      this[kWebSocket].emit("message", data, isBinary);
    }
    function receiverOnPing(data) {
      const websocket = this[kWebSocket];
      if (websocket._autoPong && websocket.readyState === WebSocket.OPEN) {
        if (websocket._maxPendingAutoPongs > 0 && websocket._pendingAutoPongs >= websocket._maxPendingAutoPongs) {
          websocket.terminate();
        } else {
          websocket._pendingAutoPongs++;
          websocket.pong(data, !this._isServer, websocket._autoPongComplete);
        }
      }
      websocket.emit("ping", data);
    }
    function autoPongComplete(websocket) {
      websocket._pendingAutoPongs--;
    }
    function receiverOnPong(data) {
      this[kWebSocket].emit("pong", data);
    }
    function resume(stream) {
      stream.resume();
    }
    function senderOnError(err) {
      const websocket = this[kWebSocket];
      if (websocket.readyState === WebSocket.CLOSED) return;
      if (websocket.readyState === WebSocket.OPEN) {
        websocket._readyState = WebSocket.CLOSING;
        setCloseTimer(websocket);
      }
      this._socket.end();
      if (!websocket._errorEmitted) {
        websocket._errorEmitted = true;
        websocket.emit("error", err);
      }
    }
    function setCloseTimer(websocket) {
      websocket._closeTimer = setTimeout(
        websocket._socket.destroy.bind(websocket._socket),
        websocket._closeTimeout
      );
    }
    function socketOnClose() {
      const websocket = this[kWebSocket];
      this.removeListener("close", socketOnClose);
      this.removeListener("data", socketOnData);
      this.removeListener("end", socketOnEnd);
      websocket._readyState = WebSocket.CLOSING;
      if (!this._readableState.endEmitted && !websocket._closeFrameReceived && !websocket._receiver._writableState.errorEmitted && this._readableState.length !== 0) {
        const chunk = this.read(this._readableState.length);
        websocket._receiver.write(chunk);
      }
      websocket._receiver.end();
      this[kWebSocket] = void 0;
      clearTimeout(websocket._closeTimer);
      if (websocket._receiver._writableState.finished || websocket._receiver._writableState.errorEmitted) {
        websocket.emitClose();
      } else {
        websocket._receiver.on("error", receiverOnFinish);
        websocket._receiver.on("finish", receiverOnFinish);
      }
    }
    function socketOnData(chunk) {
      if (!this[kWebSocket]._receiver.write(chunk)) {
        this.pause();
      }
    }
    function socketOnEnd() {
      const websocket = this[kWebSocket];
      websocket._readyState = WebSocket.CLOSING;
      websocket._receiver.end();
      this.end();
    }
    function socketOnError() {
      const websocket = this[kWebSocket];
      this.removeListener("error", socketOnError);
      this.on("error", NOOP);
      if (websocket) {
        websocket._readyState = WebSocket.CLOSING;
        this.destroy();
      }
    }
  }
});

// node_modules/ws/lib/stream.js
var require_stream = __commonJS({
  "node_modules/ws/lib/stream.js"(exports2, module2) {
    "use strict";
    var WebSocket = require_websocket();
    var { Duplex } = require("stream");
    function emitClose(stream) {
      stream.emit("close");
    }
    function duplexOnEnd() {
      if (!this.destroyed && this._writableState.finished) {
        this.destroy();
      }
    }
    function duplexOnError(err) {
      this.removeListener("error", duplexOnError);
      this.destroy();
      if (this.listenerCount("error") === 0) {
        this.emit("error", err);
      }
    }
    function createWebSocketStream(ws, options) {
      let terminateOnDestroy = true;
      const duplex = new Duplex({
        ...options,
        autoDestroy: false,
        emitClose: false,
        objectMode: false,
        writableObjectMode: false
      });
      ws.on("message", function message(msg, isBinary) {
        const data = !isBinary && duplex._readableState.objectMode ? msg.toString() : msg;
        if (!duplex.push(data)) ws.pause();
      });
      ws.once("error", function error(err) {
        if (duplex.destroyed) return;
        terminateOnDestroy = false;
        duplex.destroy(err);
      });
      ws.once("close", function close() {
        if (duplex.destroyed) return;
        duplex.push(null);
      });
      duplex._destroy = function(err, callback) {
        if (ws.readyState === ws.CLOSED) {
          callback(err);
          process.nextTick(emitClose, duplex);
          return;
        }
        let called = false;
        ws.once("error", function error(err2) {
          called = true;
          callback(err2);
        });
        ws.once("close", function close() {
          if (!called) callback(err);
          process.nextTick(emitClose, duplex);
        });
        if (terminateOnDestroy) ws.terminate();
      };
      duplex._final = function(callback) {
        if (ws.readyState === ws.CONNECTING) {
          ws.once("open", function open2() {
            duplex._final(callback);
          });
          return;
        }
        if (ws._socket === null) return;
        if (ws._socket._writableState.finished) {
          callback();
          if (duplex._readableState.endEmitted) duplex.destroy();
        } else {
          ws._socket.once("finish", function finish() {
            callback();
          });
          ws.close();
        }
      };
      duplex._read = function() {
        if (ws.isPaused) ws.resume();
      };
      duplex._write = function(chunk, encoding, callback) {
        if (ws.readyState === ws.CONNECTING) {
          ws.once("open", function open2() {
            duplex._write(chunk, encoding, callback);
          });
          return;
        }
        ws.send(chunk, callback);
      };
      duplex.on("end", duplexOnEnd);
      duplex.on("error", duplexOnError);
      return duplex;
    }
    module2.exports = createWebSocketStream;
  }
});

// node_modules/ws/lib/subprotocol.js
var require_subprotocol = __commonJS({
  "node_modules/ws/lib/subprotocol.js"(exports2, module2) {
    "use strict";
    var { tokenChars } = require_validation();
    function parse3(header) {
      const protocols = /* @__PURE__ */ new Set();
      let start = -1;
      let end2 = -1;
      let i = 0;
      for (i; i < header.length; i++) {
        const code = header.charCodeAt(i);
        if (end2 === -1 && tokenChars[code] === 1) {
          if (start === -1) start = i;
        } else if (i !== 0 && (code === 32 || code === 9)) {
          if (end2 === -1 && start !== -1) end2 = i;
        } else if (code === 44) {
          if (start === -1) {
            throw new SyntaxError(`Unexpected character at index ${i}`);
          }
          if (end2 === -1) end2 = i;
          const protocol2 = header.slice(start, end2);
          if (protocols.has(protocol2)) {
            throw new SyntaxError(`The "${protocol2}" subprotocol is duplicated`);
          }
          protocols.add(protocol2);
          start = end2 = -1;
        } else {
          throw new SyntaxError(`Unexpected character at index ${i}`);
        }
      }
      if (start === -1 || end2 !== -1) {
        throw new SyntaxError("Unexpected end of input");
      }
      const protocol = header.slice(start, i);
      if (protocols.has(protocol)) {
        throw new SyntaxError(`The "${protocol}" subprotocol is duplicated`);
      }
      protocols.add(protocol);
      return protocols;
    }
    module2.exports = { parse: parse3 };
  }
});

// node_modules/ws/lib/websocket-server.js
var require_websocket_server = __commonJS({
  "node_modules/ws/lib/websocket-server.js"(exports2, module2) {
    "use strict";
    var EventEmitter = require("events");
    var http = require("http");
    var { Duplex } = require("stream");
    var { createHash: createHash2 } = require("crypto");
    var extension = require_extension();
    var PerMessageDeflate = require_permessage_deflate();
    var subprotocol = require_subprotocol();
    var WebSocket = require_websocket();
    var { CLOSE_TIMEOUT, GUID, kWebSocket } = require_constants();
    var keyRegex = /^[+/0-9A-Za-z]{22}==$/;
    var RUNNING = 0;
    var CLOSING = 1;
    var CLOSED = 2;
    var WebSocketServer = class extends EventEmitter {
      /**
       * Create a `WebSocketServer` instance.
       *
       * @param {Object} options Configuration options
       * @param {Boolean} [options.allowSynchronousEvents=true] Specifies whether
       *     any of the `'message'`, `'ping'`, and `'pong'` events can be emitted
       *     multiple times in the same tick
       * @param {Boolean} [options.autoPong=true] Specifies whether or not to
       *     automatically send a pong in response to a ping
       * @param {Number} [options.backlog=511] The maximum length of the queue of
       *     pending connections
       * @param {Boolean} [options.clientTracking=true] Specifies whether or not to
       *     track clients
       * @param {Number} [options.closeTimeout=30000] Duration in milliseconds to
       *     wait for the closing handshake to finish after `websocket.close()` is
       *     called
       * @param {Function} [options.handleProtocols] A hook to handle protocols
       * @param {String} [options.host] The hostname where to bind the server
       * @param {Number} [options.maxBufferedChunks=262144] The maximum number of
       *     buffered data chunks
       * @param {Number} [options.maxFragments=16384] The maximum number of message
       *     fragments
       * @param {Number} [options.maxPayload=104857600] The maximum allowed message
       *     size
       * @param {Number} [options.maxPendingAutoPongs=60] The maximum number of
       *     pending automatic pongs
       * @param {Boolean} [options.noServer=false] Enable no server mode
       * @param {String} [options.path] Accept only connections matching this path
       * @param {(Boolean|Object)} [options.perMessageDeflate=false] Enable/disable
       *     permessage-deflate
       * @param {Number} [options.port] The port where to bind the server
       * @param {(http.Server|https.Server)} [options.server] A pre-created HTTP/S
       *     server to use
       * @param {Boolean} [options.skipUTF8Validation=false] Specifies whether or
       *     not to skip UTF-8 validation for text and close messages
       * @param {Function} [options.verifyClient] A hook to reject connections
       * @param {Function} [options.WebSocket=WebSocket] Specifies the `WebSocket`
       *     class to use. It must be the `WebSocket` class or class that extends it
       * @param {Function} [callback] A listener for the `listening` event
       */
      constructor(options, callback) {
        super();
        options = {
          allowSynchronousEvents: true,
          autoPong: true,
          maxBufferedChunks: 256 * 1024,
          maxFragments: 16 * 1024,
          maxPayload: 100 * 1024 * 1024,
          maxPendingAutoPongs: 60,
          skipUTF8Validation: false,
          perMessageDeflate: false,
          handleProtocols: null,
          clientTracking: true,
          closeTimeout: CLOSE_TIMEOUT,
          verifyClient: null,
          noServer: false,
          backlog: null,
          // use default (511 as implemented in net.js)
          server: null,
          host: null,
          path: null,
          port: null,
          WebSocket,
          ...options
        };
        if (options.port == null && !options.server && !options.noServer || options.port != null && (options.server || options.noServer) || options.server && options.noServer) {
          throw new TypeError(
            'One and only one of the "port", "server", or "noServer" options must be specified'
          );
        }
        if (options.port != null) {
          this._server = http.createServer((req, res) => {
            const body = http.STATUS_CODES[426];
            res.writeHead(426, {
              "Content-Length": body.length,
              "Content-Type": "text/plain"
            });
            res.end(body);
          });
          this._server.listen(
            options.port,
            options.host,
            options.backlog,
            callback
          );
        } else if (options.server) {
          this._server = options.server;
        }
        if (this._server) {
          const emitConnection = this.emit.bind(this, "connection");
          this._removeListeners = addListeners(this._server, {
            listening: this.emit.bind(this, "listening"),
            error: this.emit.bind(this, "error"),
            upgrade: (req, socket, head) => {
              this.handleUpgrade(req, socket, head, emitConnection);
            }
          });
        }
        if (options.perMessageDeflate === true) options.perMessageDeflate = {};
        if (options.clientTracking) {
          this.clients = /* @__PURE__ */ new Set();
          this._shouldEmitClose = false;
        }
        this.options = options;
        this._state = RUNNING;
      }
      /**
       * Returns the bound address, the address family name, and port of the server
       * as reported by the operating system if listening on an IP socket.
       * If the server is listening on a pipe or UNIX domain socket, the name is
       * returned as a string.
       *
       * @return {(Object|String|null)} The address of the server
       * @public
       */
      address() {
        if (this.options.noServer) {
          throw new Error('The server is operating in "noServer" mode');
        }
        if (!this._server) return null;
        return this._server.address();
      }
      /**
       * Stop the server from accepting new connections and emit the `'close'` event
       * when all existing connections are closed.
       *
       * @param {Function} [cb] A one-time listener for the `'close'` event
       * @public
       */
      close(cb) {
        if (this._state === CLOSED) {
          if (cb) {
            this.once("close", () => {
              cb(new Error("The server is not running"));
            });
          }
          process.nextTick(emitClose, this);
          return;
        }
        if (cb) this.once("close", cb);
        if (this._state === CLOSING) return;
        this._state = CLOSING;
        if (this.options.noServer || this.options.server) {
          if (this._server) {
            this._removeListeners();
            this._removeListeners = this._server = null;
          }
          if (this.clients) {
            if (!this.clients.size) {
              process.nextTick(emitClose, this);
            } else {
              this._shouldEmitClose = true;
            }
          } else {
            process.nextTick(emitClose, this);
          }
        } else {
          const server = this._server;
          this._removeListeners();
          this._removeListeners = this._server = null;
          server.close(() => {
            emitClose(this);
          });
        }
      }
      /**
       * See if a given request should be handled by this server instance.
       *
       * @param {http.IncomingMessage} req Request object to inspect
       * @return {Boolean} `true` if the request is valid, else `false`
       * @public
       */
      shouldHandle(req) {
        if (this.options.path) {
          const index = req.url.indexOf("?");
          const pathname = index !== -1 ? req.url.slice(0, index) : req.url;
          if (pathname !== this.options.path) return false;
        }
        return true;
      }
      /**
       * Handle a HTTP Upgrade request.
       *
       * @param {http.IncomingMessage} req The request object
       * @param {Duplex} socket The network socket between the server and client
       * @param {Buffer} head The first packet of the upgraded stream
       * @param {Function} cb Callback
       * @public
       */
      handleUpgrade(req, socket, head, cb) {
        socket.on("error", socketOnError);
        const key = req.headers["sec-websocket-key"];
        const upgrade = req.headers.upgrade;
        const version = +req.headers["sec-websocket-version"];
        if (req.method !== "GET") {
          const message = "Invalid HTTP method";
          abortHandshakeOrEmitwsClientError(this, req, socket, 405, message);
          return;
        }
        if (upgrade === void 0 || upgrade.toLowerCase() !== "websocket") {
          const message = "Invalid Upgrade header";
          abortHandshakeOrEmitwsClientError(this, req, socket, 400, message);
          return;
        }
        if (key === void 0 || !keyRegex.test(key)) {
          const message = "Missing or invalid Sec-WebSocket-Key header";
          abortHandshakeOrEmitwsClientError(this, req, socket, 400, message);
          return;
        }
        if (version !== 13 && version !== 8) {
          const message = "Missing or invalid Sec-WebSocket-Version header";
          abortHandshakeOrEmitwsClientError(this, req, socket, 400, message, {
            "Sec-WebSocket-Version": "13, 8"
          });
          return;
        }
        if (!this.shouldHandle(req)) {
          abortHandshake(socket, 400);
          return;
        }
        const secWebSocketProtocol = req.headers["sec-websocket-protocol"];
        let protocols = /* @__PURE__ */ new Set();
        if (secWebSocketProtocol !== void 0) {
          try {
            protocols = subprotocol.parse(secWebSocketProtocol);
          } catch (err) {
            const message = "Invalid Sec-WebSocket-Protocol header";
            abortHandshakeOrEmitwsClientError(this, req, socket, 400, message);
            return;
          }
        }
        const secWebSocketExtensions = req.headers["sec-websocket-extensions"];
        const extensions = {};
        if (this.options.perMessageDeflate && secWebSocketExtensions !== void 0) {
          const perMessageDeflate = new PerMessageDeflate({
            ...this.options.perMessageDeflate,
            isServer: true,
            maxPayload: this.options.maxPayload
          });
          try {
            const offers = extension.parse(secWebSocketExtensions);
            if (offers[PerMessageDeflate.extensionName]) {
              perMessageDeflate.accept(offers[PerMessageDeflate.extensionName]);
              extensions[PerMessageDeflate.extensionName] = perMessageDeflate;
            }
          } catch (err) {
            const message = "Invalid or unacceptable Sec-WebSocket-Extensions header";
            abortHandshakeOrEmitwsClientError(this, req, socket, 400, message);
            return;
          }
        }
        if (this.options.verifyClient) {
          const info = {
            origin: req.headers[`${version === 8 ? "sec-websocket-origin" : "origin"}`],
            secure: !!(req.socket.authorized || req.socket.encrypted),
            req
          };
          if (this.options.verifyClient.length === 2) {
            this.options.verifyClient(info, (verified, code, message, headers) => {
              if (!verified) {
                return abortHandshake(socket, code || 401, message, headers);
              }
              this.completeUpgrade(
                extensions,
                key,
                protocols,
                req,
                socket,
                head,
                cb
              );
            });
            return;
          }
          if (!this.options.verifyClient(info)) return abortHandshake(socket, 401);
        }
        this.completeUpgrade(extensions, key, protocols, req, socket, head, cb);
      }
      /**
       * Upgrade the connection to WebSocket.
       *
       * @param {Object} extensions The accepted extensions
       * @param {String} key The value of the `Sec-WebSocket-Key` header
       * @param {Set} protocols The subprotocols
       * @param {http.IncomingMessage} req The request object
       * @param {Duplex} socket The network socket between the server and client
       * @param {Buffer} head The first packet of the upgraded stream
       * @param {Function} cb Callback
       * @throws {Error} If called more than once with the same socket
       * @private
       */
      completeUpgrade(extensions, key, protocols, req, socket, head, cb) {
        if (!socket.readable || !socket.writable) return socket.destroy();
        if (socket[kWebSocket]) {
          throw new Error(
            "server.handleUpgrade() was called more than once with the same socket, possibly due to a misconfiguration"
          );
        }
        if (this._state > RUNNING) return abortHandshake(socket, 503);
        const digest = createHash2("sha1").update(key + GUID).digest("base64");
        const headers = [
          "HTTP/1.1 101 Switching Protocols",
          "Upgrade: websocket",
          "Connection: Upgrade",
          `Sec-WebSocket-Accept: ${digest}`
        ];
        const ws = new this.options.WebSocket(null, void 0, this.options);
        if (protocols.size) {
          const protocol = this.options.handleProtocols ? this.options.handleProtocols(protocols, req) : protocols.values().next().value;
          if (protocol) {
            headers.push(`Sec-WebSocket-Protocol: ${protocol}`);
            ws._protocol = protocol;
          }
        }
        if (extensions[PerMessageDeflate.extensionName]) {
          const params = extensions[PerMessageDeflate.extensionName].params;
          const value = extension.format({
            [PerMessageDeflate.extensionName]: [params]
          });
          headers.push(`Sec-WebSocket-Extensions: ${value}`);
          ws._extensions = extensions;
        }
        this.emit("headers", headers, req);
        socket.write(headers.concat("\r\n").join("\r\n"));
        socket.removeListener("error", socketOnError);
        ws.setSocket(socket, head, {
          allowSynchronousEvents: this.options.allowSynchronousEvents,
          maxBufferedChunks: this.options.maxBufferedChunks,
          maxFragments: this.options.maxFragments,
          maxPayload: this.options.maxPayload,
          skipUTF8Validation: this.options.skipUTF8Validation
        });
        if (this.clients) {
          this.clients.add(ws);
          ws.on("close", () => {
            this.clients.delete(ws);
            if (this._shouldEmitClose && !this.clients.size) {
              process.nextTick(emitClose, this);
            }
          });
        }
        cb(ws, req);
      }
    };
    module2.exports = WebSocketServer;
    function addListeners(server, map) {
      for (const event of Object.keys(map)) server.on(event, map[event]);
      return function removeListeners() {
        for (const event of Object.keys(map)) {
          server.removeListener(event, map[event]);
        }
      };
    }
    function emitClose(server) {
      server._state = CLOSED;
      server.emit("close");
    }
    function socketOnError() {
      this.destroy();
    }
    function abortHandshake(socket, code, message, headers) {
      message = message || http.STATUS_CODES[code];
      headers = {
        Connection: "close",
        "Content-Type": "text/html",
        "Content-Length": Buffer.byteLength(message),
        ...headers
      };
      socket.once("finish", socket.destroy);
      socket.end(
        `HTTP/1.1 ${code} ${http.STATUS_CODES[code]}\r
` + Object.keys(headers).map((h) => `${h}: ${headers[h]}`).join("\r\n") + "\r\n\r\n" + message
      );
    }
    function abortHandshakeOrEmitwsClientError(server, req, socket, code, message, headers) {
      if (server.listenerCount("wsClientError")) {
        const err = new Error(message);
        Error.captureStackTrace(err, abortHandshakeOrEmitwsClientError);
        server.emit("wsClientError", err, socket, req);
      } else {
        abortHandshake(socket, code, message, headers);
      }
    }
  }
});

// node_modules/ws/index.js
var require_ws = __commonJS({
  "node_modules/ws/index.js"(exports2, module2) {
    "use strict";
    var createWebSocketStream = require_stream();
    var extension = require_extension();
    var PerMessageDeflate = require_permessage_deflate();
    var Receiver = require_receiver();
    var Sender = require_sender();
    var subprotocol = require_subprotocol();
    var WebSocket = require_websocket();
    var WebSocketServer = require_websocket_server();
    WebSocket.createWebSocketStream = createWebSocketStream;
    WebSocket.extension = extension;
    WebSocket.PerMessageDeflate = PerMessageDeflate;
    WebSocket.Receiver = Receiver;
    WebSocket.Sender = Sender;
    WebSocket.Server = WebSocketServer;
    WebSocket.subprotocol = subprotocol;
    WebSocket.WebSocket = WebSocket;
    WebSocket.WebSocketServer = WebSocketServer;
    module2.exports = WebSocket;
  }
});

// src/index.ts
var index_exports = {};
__export(index_exports, {
  createWorld: () => createWorld,
  default: () => index_default
});
module.exports = __toCommonJS(index_exports);

// src/sdk/errors.ts
var WorkflowError = class extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = "WorkflowError";
  }
};
var WorkflowWorldError = class extends WorkflowError {
  constructor(message, details = {}) {
    super(message, details.cause === void 0 ? void 0 : { cause: details.cause });
    this.name = "WorkflowWorldError";
    if (details.status !== void 0) this.status = details.status;
    if (details.code !== void 0) this.code = details.code;
    if (details.url !== void 0) this.url = details.url;
    if (details.retryAfter !== void 0) this.retryAfter = details.retryAfter;
  }
};
var EntityConflictError = class extends WorkflowWorldError {
  constructor(message) {
    super(message);
    this.name = "EntityConflictError";
  }
};
var RunExpiredError = class extends WorkflowWorldError {
  constructor(message) {
    super(message);
    this.name = "RunExpiredError";
  }
};
var StreamError = class extends WorkflowWorldError {
  constructor(message, details = {}) {
    super(message, { ...details, code: "STREAM_ERROR" });
    this.name = "StreamError";
  }
};
var StreamExpiredError = class extends WorkflowWorldError {
  runId;
  streamId;
  expiredAt;
  constructor(message, runId, streamId, expiredAt) {
    super(message, { status: 410, code: "stream-expired" });
    this.name = "StreamExpiredError";
    this.runId = runId;
    this.streamId = streamId;
    this.expiredAt = expiredAt;
  }
};
var TooEarlyError = class extends WorkflowWorldError {
  constructor(message, options = {}) {
    super(message, options);
    this.name = "TooEarlyError";
  }
};
var ThrottleError = class extends WorkflowWorldError {
  constructor(message, options = {}) {
    super(message, options);
    this.name = "ThrottleError";
  }
};
var PreconditionFailedError = class extends WorkflowWorldError {
  constructor(message, options = {}) {
    super(message, { status: 412, ...options });
    this.name = "PreconditionFailedError";
  }
};
var WorkflowRunNotFoundError = class extends WorkflowError {
  runId;
  constructor(runId) {
    super(`Workflow run "${runId}" not found`);
    this.name = "WorkflowRunNotFoundError";
    this.runId = runId;
  }
};
var HookNotFoundError = class extends WorkflowError {
  token;
  constructor(token) {
    super("Hook not found");
    this.name = "HookNotFoundError";
    this.token = token;
  }
};
var RunNotSupportedError = class extends WorkflowError {
  runSpecVersion;
  worldSpecVersion;
  constructor(runSpecVersion, worldSpecVersion) {
    super(`Run requires spec version ${runSpecVersion}, but the World supports version ${worldSpecVersion}. Please upgrade the World.`);
    this.name = "RunNotSupportedError";
    this.runSpecVersion = runSpecVersion;
    this.worldSpecVersion = worldSpecVersion;
  }
};
var AttributeValidationError = class extends Error {
  constructor(message) {
    super(message);
    this.name = "AttributeValidationError";
  }
};

// src/fastPaths.ts
var NAMES = ["pipeline", "preload", "anticipate", "bundles", "socket", "fan-in", "request-body", "quiet"];
var last;
function readFastPaths() {
  const list2 = process.env["WORKFLOW_WORLD_FAST_PATHS"] ?? "";
  const socket = process.env["WORKFLOW_WORLD_SOCKET"];
  if (last?.list !== list2 || last.socket !== socket) {
    const paths = new Set(parse(list2));
    if (socket === "off") paths.delete("socket");
    last = { list: list2, socket, paths };
  }
  return last.paths;
}
function parse(list2) {
  const text2 = list2.trim();
  if (text2 === "" || text2 === "all") return NAMES;
  if (text2 === "none") return [];
  return text2.split(",").map((name) => name.trim()).filter((name) => name !== "").map(known);
}
function known(name) {
  const found = NAMES.find((one) => one === name);
  if (found !== void 0) return found;
  const message = `WORKFLOW_WORLD_FAST_PATHS names "${name}", which is not a fast path: use all, none, or a list of ${NAMES.join(", ")}`;
  throw new WorkflowWorldError(message, { code: "INVALID_CONFIG" });
}

// src/config.ts
var DEFAULT_URL = "http://127.0.0.1:8787";
var DEFAULT_DEPLOYMENT_ID = "dpl_world-redis";
var DEFAULT_RETRY_FOR_MS = 1e4;
var DEFAULT_TIMEOUT_MS = 6e4;
var DEFAULT_STREAM_RETRY_SECONDS = 60;
var LONGEST_STREAM_RETRY_SECONDS = 540;
function readConfig(options) {
  const env = process.env;
  const deploymentId = options.deploymentId || env["WORKFLOW_DEPLOYMENT_ID"];
  const tokens = list(options.token || env["WORKFLOW_WORLD_TOKEN"]);
  return {
    url: options.url || env["WORKFLOW_WORLD_URL"] || DEFAULT_URL,
    // The service accepts a list, for rotation; an app with the same environment sends the first token.
    token: tokens[0],
    tokens,
    signingKeys: list(options.signingKey || env["WORKFLOW_WORLD_SIGNING_KEY"]),
    baseUrl: options.baseUrl || env["WORKFLOW_BASE_URL"] || void 0,
    deploymentId: deploymentId || DEFAULT_DEPLOYMENT_ID,
    deploymentNamed: Boolean(deploymentId),
    namespace: env["WORKFLOW_QUEUE_NAMESPACE"] || void 0,
    retryForMs: options.retryForMs ?? DEFAULT_RETRY_FOR_MS,
    streamRetryForMs: streamRetryForMs(options.streamRetryForMs, env["WORKFLOW_WORLD_STREAM_RETRY_SECONDS"]),
    timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    fastPaths: readFastPaths()
  };
}
function streamRetryForMs(option, variable) {
  const text2 = variable?.trim() || void 0;
  const ms = option ?? Number(text2 ?? DEFAULT_STREAM_RETRY_SECONDS) * 1e3;
  if (ms >= 0 && ms <= LONGEST_STREAM_RETRY_SECONDS * 1e3) return ms;
  const which = option === void 0 ? `WORKFLOW_WORLD_STREAM_RETRY_SECONDS is "${text2}"` : `streamRetryForMs is ${option}`;
  const range = option === void 0 ? "0 to 540 seconds" : "0 to 540,000 milliseconds";
  throw new WorkflowWorldError(`${which}, which is not a number of ${range}`, { code: "INVALID_CONFIG" });
}
var CACHED_MS = 100;
function configReader(options) {
  let config;
  let until = 0;
  return () => {
    const now = Date.now();
    if (config === void 0 || now >= until || now < until - CACHED_MS) {
      config = readConfig(options);
      until = now + CACHED_MS;
    }
    return config;
  };
}
function sameService(a, b) {
  return a.url === b.url && a.token === b.token && a.deploymentId === b.deploymentId;
}
function list(text2) {
  return (text2 ?? "").split(",").map((part) => part.trim()).filter((part) => part !== "");
}

// src/sdk/queueName.ts
var PATTERN = /^__(?:([a-z][a-z0-9]*)_)?wkf_(workflow|step)_(.*)$/s;
function parseQueueName(name) {
  const match = PATTERN.exec(name);
  return match ? { namespace: match[1], kind: match[2], rest: match[3] } : void 0;
}
function nameForHandler(name, prefix2) {
  const parsed = parseQueueName(name);
  if (!parsed || parsed.rest === "") return void 0;
  if (name.startsWith(prefix2)) return name;
  if (parsed.kind === "step" && parsed.namespace === void 0 && parseQueueName(prefix2)?.kind === "step") {
    return prefix2 + parsed.rest;
  }
  return void 0;
}

// src/wire/encoding.ts
var import_node_util = require("node:util");

// src/wire/cborTags.ts
var import_node_os = require("node:os");
var UNFIT = /* @__PURE__ */ Symbol();
var MAX_BIGNUM_BYTES = 4096;
var MAX_REGEXP_LENGTH = 4096;
function dateOf(timestamp) {
  const date = new Date(timestamp);
  return Number.isNaN(date.getTime()) ? UNFIT : date;
}
function bignumOf(tag, bytes) {
  if (bytes.byteLength > MAX_BIGNUM_BYTES) return UNFIT;
  const n = BigInt(`0x0${hex(bytes)}`);
  return tag === 2 ? n : -1n - n;
}
function hex({ buffer, byteOffset, byteLength }) {
  return Buffer.from(buffer, byteOffset, byteLength).toString("hex");
}
function regExpOf(source, flags) {
  if (source.length > MAX_REGEXP_LENGTH) return UNFIT;
  try {
    return new RegExp(source, flags);
  } catch {
    return UNFIT;
  }
}
var typedArrays = /* @__PURE__ */ new Map([
  [64, Uint8Array],
  [65, Uint16Array],
  [66, Uint32Array],
  [67, BigUint64Array],
  [68, Uint8ClampedArray],
  [69, Uint16Array],
  [70, Uint32Array],
  [71, BigUint64Array],
  [72, Int8Array],
  [73, Int16Array],
  [74, Int32Array],
  [75, BigInt64Array],
  [77, Int16Array],
  [78, Int32Array],
  [79, BigInt64Array],
  [81, Float32Array],
  [82, Float64Array],
  [85, Float32Array],
  [86, Float64Array]
]);
function typedArrayOf(tag, ArrayType, bytes) {
  const size = ArrayType.BYTES_PER_ELEMENT;
  if (bytes.byteLength % size !== 0) return UNFIT;
  const own = new Uint8Array(bytes);
  if (size > 1 && isBigEndian(tag) !== ((0, import_node_os.endianness)() === "BE")) swap(own, size);
  return new ArrayType(own.buffer);
}
function isBigEndian(tag) {
  return (tag & 4) === 0;
}
function swap({ buffer }, size) {
  const bytes = Buffer.from(buffer);
  if (size === 2) bytes.swap16();
  else if (size === 4) bytes.swap32();
  else bytes.swap64();
}

// src/wire/cborReader.ts
var MAX_DEPTH = 600;
var INDEFINITE = 31;
var BREAK = 255;
var UINT = 0;
var NEGATIVE = 1;
var BYTES = 2;
var TEXT = 3;
var ARRAY = 4;
var MAP = 5;
var TAG = 6;
var SIMPLE = 7;
function readCbor(bytes, views) {
  return new Reader(bytes, views).whole();
}
var Reader = class {
  /** A plain array, since a slice of a Buffer would be a Buffer. */
  #bytes;
  #buffer;
  #view;
  #end;
  #views;
  #at = 0;
  constructor({ buffer, byteOffset, byteLength }, views) {
    this.#bytes = new Uint8Array(buffer, byteOffset, byteLength);
    this.#buffer = Buffer.from(buffer, byteOffset, byteLength);
    this.#view = new DataView(buffer, byteOffset, byteLength);
    this.#end = byteLength;
    this.#views = views;
  }
  whole() {
    const value = this.#item(0);
    if (this.#at !== this.#end) throw malformed("there are bytes after the item");
    return value;
  }
  #item(depth) {
    const start = this.#at;
    if (depth > MAX_DEPTH) return this.#unshown(start);
    const initial = this.#initial();
    const [major, info] = [initial >> 5, initial & 31];
    if (major === SIMPLE) return this.#simple(start, info);
    if (info === INDEFINITE) return this.#indefinite(major, depth);
    const n = this.#argument(info);
    switch (major) {
      case UINT:
        return n;
      case NEGATIVE:
        return -1 - n;
      case BYTES:
        return this.#byteString(n);
      case TEXT:
        return this.#text(n);
      case ARRAY:
        return this.#array(n, depth);
      case MAP:
        return this.#object(n, depth);
      default:
        return this.#tagged(start, n, depth);
    }
  }
  #initial() {
    const byte = this.#bytes[this.#at++];
    if (byte === void 0) throw malformed("it ends too early");
    return byte;
  }
  /** The number after an initial byte. From 2^53 on it is not exact, like all numbers here. */
  #argument(info) {
    if (info < 24) return info;
    if (info > 27) throw malformed(`a head ends in ${info}`);
    const at = this.#at;
    const size = 1 << info - 24;
    this.#at += size;
    if (this.#at > this.#end) throw malformed("it ends too early");
    switch (size) {
      case 1:
        return this.#bytes[at];
      case 2:
        return this.#view.getUint16(at);
      case 4:
        return this.#view.getUint32(at);
      default:
        return this.#view.getUint32(at) * 4294967296 + this.#view.getUint32(at + 4);
    }
  }
  /** Throws unless count bytes are left. A length is checked before memory is allocated for it. */
  #need(count2) {
    if (count2 > this.#end - this.#at) throw malformed("it ends too early");
  }
  #byteString(n) {
    this.#need(n);
    const from = this.#at;
    this.#at += n;
    return this.#views ? this.#bytes.subarray(from, this.#at) : this.#bytes.slice(from, this.#at);
  }
  #text(n) {
    this.#need(n);
    const from = this.#at;
    this.#at += n;
    return this.#buffer.toString("utf8", from, this.#at);
  }
  #array(n, depth) {
    this.#need(n);
    const list2 = [];
    for (let i = 0; i < n; i++) list2.push(this.#item(depth + 1));
    return list2;
  }
  #object(n, depth) {
    this.#need(2 * n);
    const object = {};
    for (let i = 0; i < n; i++) object[this.#key()] = this.#item(depth + 1);
    return object;
  }
  #map(depth) {
    const map = /* @__PURE__ */ new Map();
    const info = this.#initial() & 31;
    const n = info === INDEFINITE ? Number.POSITIVE_INFINITY : this.#argument(info);
    if (info !== INDEFINITE) this.#need(2 * n);
    for (let i = 0; i < n && !(info === INDEFINITE && this.#atBreak()); i++) {
      const key = this.#item(depth + 1);
      map.set(key, this.#item(depth + 1));
    }
    return map;
  }
  #atBreak() {
    if (this.#bytes[this.#at] !== BREAK) return false;
    this.#at++;
    return true;
  }
  #indefinite(major, depth) {
    switch (major) {
      case BYTES:
      case TEXT: {
        const parts = [];
        while (!this.#atBreak()) {
          const initial = this.#initial();
          if (initial >> 5 !== major) throw malformed("a string has a part of another type");
          const n = this.#argument(initial & 31);
          this.#need(n);
          parts.push(this.#bytes.subarray(this.#at, this.#at += n));
        }
        const whole = Buffer.concat(parts);
        return major === TEXT ? whole.toString() : new Uint8Array(whole);
      }
      case ARRAY: {
        const list2 = [];
        while (!this.#atBreak()) list2.push(this.#item(depth + 1));
        return list2;
      }
      case MAP: {
        const object = {};
        while (!this.#atBreak()) object[this.#key()] = this.#item(depth + 1);
        return object;
      }
      default:
        throw malformed("a head ends in 31");
    }
  }
  /** A key of an object. A key that is neither text nor a scalar becomes the text of its {@link Unshown}. */
  #key() {
    const start = this.#at;
    const initial = this.#bytes[start] ?? 0;
    const major = initial >> 5;
    if (major === TEXT && initial !== 127) {
      this.#at++;
      const n = this.#argument(initial & 31);
      return safe(n < CACHED_KEY_BYTES ? this.#shortKey(n) : this.#text(n));
    }
    const isPlain = major === TEXT || major === UINT || major === NEGATIVE || major === SIMPLE;
    const value = isPlain ? this.#item(0) : this.#unshown(start);
    return typeof value === "object" && value !== null ? JSON.stringify(value) : safe(String(value));
  }
  /** Answers repeat the same few keys, so those are neither decoded nor allocated each time. */
  #shortKey(n) {
    this.#need(n);
    const bytes = this.#bytes;
    const at = this.#at;
    const slot = n * 31 + (bytes[at] ?? 0) * 7 + (bytes[at + n - 1] ?? 0) * 3 + (bytes[at + (n >> 1)] ?? 0) & KEY_SLOTS - 1;
    const known2 = keys[slot];
    if (known2 !== void 0 && known2.length === n) {
      let i = 0;
      while (i < n && known2.charCodeAt(i) === bytes[at + i]) i++;
      if (i === n && isAscii(bytes, at, n)) {
        this.#at += n;
        return known2;
      }
    }
    const text2 = this.#text(n);
    if (text2.length === n && isAscii(bytes, at, n)) keys[slot] = text2;
    return text2;
  }
  #simple(start, info) {
    switch (info) {
      case 20:
        return false;
      case 21:
        return true;
      case 22:
        return null;
      case 23:
        return void 0;
      case 25: {
        this.#need(2);
        const half = this.#view.getUint16(this.#at);
        this.#at += 2;
        return fromHalf(half);
      }
      case 26:
        this.#need(4);
        this.#at += 4;
        return this.#view.getFloat32(this.#at - 4);
      case 27:
        this.#need(8);
        this.#at += 8;
        return this.#view.getFloat64(this.#at - 8);
      case INDEFINITE:
        throw malformed("a break ends nothing");
      default:
        return this.#unshown(start);
    }
  }
  #tagged(start, tag, depth) {
    const value = this.#content(tag, depth);
    return value === UNFIT ? this.#unshown(start) : value;
  }
  /** The value of a tagged content, for the tags that the client's encoder writes. Other tags are ignored, and the content is returned. */
  #content(tag, depth) {
    const initial = this.#bytes[this.#at] ?? 0;
    const major = initial >> 5;
    const ArrayType = typedArrays.get(tag);
    if (ArrayType) return major === BYTES ? typedArrayOf(tag, ArrayType, this.#item(0)) : UNFIT;
    switch (tag) {
      case 0:
        return major === TEXT ? dateOf(this.#item(depth + 1)) : UNFIT;
      case 1: {
        const isNumber = major === UINT || major === NEGATIVE || initial >= 249 && initial <= 251;
        return isNumber ? dateOf(Math.round(this.#item(depth + 1) * 1e3)) : UNFIT;
      }
      case 2:
      case 3:
        return major === BYTES ? bignumOf(tag, this.#item(depth + 1)) : UNFIT;
      case 27:
        return this.#regExp();
      case 258:
        return major === ARRAY ? new Set(this.#item(depth + 1)) : UNFIT;
      case 259:
        return major === MAP ? this.#map(depth + 1) : UNFIT;
      default:
        return this.#item(depth + 1);
    }
  }
  /** `["RegExp", source, flags]`; other representations of class instances are not converted. */
  #regExp() {
    const initial = this.#initial();
    if (initial !== 131) return UNFIT;
    const texts = [];
    for (let i = 0; i < 3; i++) {
      if ((this.#bytes[this.#at] ?? 0) >> 5 !== TEXT) return UNFIT;
      texts.push(this.#item(0));
    }
    const [name, source, flags] = texts;
    return name === "RegExp" ? regExpOf(source, flags) : UNFIT;
  }
  /** The item that begins at `start`, as its bytes. */
  #unshown(start) {
    this.#at = start;
    this.#skip();
    return { __type: "CBOR", data: this.#buffer.toString("base64", start, this.#at) };
  }
  /** Skips the next item, whatever its depth. */
  #skip() {
    const open2 = [];
    do {
      const initial = this.#initial();
      const [major, info] = [initial >> 5, initial & 31];
      let inside = 0;
      if (initial === BREAK) {
        if (open2.pop() !== Number.POSITIVE_INFINITY) throw malformed("a break ends nothing");
      } else if (info === INDEFINITE) {
        if (major === UINT || major === NEGATIVE || major === TAG) throw malformed("a head ends in 31");
        inside = Number.POSITIVE_INFINITY;
      } else {
        const n = this.#argument(info);
        if (major === BYTES || major === TEXT) {
          this.#need(n);
          this.#at += n;
        } else if (major === ARRAY) inside = n;
        else if (major === MAP) inside = 2 * n;
        else if (major === TAG) inside = 1;
        if (inside !== Number.POSITIVE_INFINITY) this.#need(inside);
      }
      if (inside > 0) {
        open2.push(inside);
        continue;
      }
      for (let left = 0; open2.length > 0 && left === 0; ) {
        left = open2.pop() - 1;
        if (left > 0) open2.push(left);
      }
    } while (open2.length > 0);
  }
};
var CACHED_KEY_BYTES = 32;
var KEY_SLOTS = 1024;
var keys = new Array(KEY_SLOTS).fill(void 0);
function isAscii(bytes, at, n) {
  for (let i = at; i < at + n; i++) if (bytes[i] > 127) return false;
  return true;
}
function safe(key) {
  return key === "__proto__" ? "__proto_" : key;
}
function fromHalf(half) {
  const exponent = half >> 10 & 31;
  const fraction = half & 1023;
  const sign = half & 32768 ? -1 : 1;
  if (exponent === 31) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15));
}
function malformed(what) {
  return new Error(`not well-formed CBOR: ${what}`);
}

// src/wire/text.ts
function wellFormed(text2) {
  return text2.toWellFormed();
}

// src/wire/encoding.ts
var { Encoder } = require_index_no_eval();
var CBOR = "application/cbor";
var coder = new Encoder({ useRecords: false, tagUint8Array: false, mapsAsObjects: true });
function encode(value) {
  return coder.encode(toWire(value));
}
function decode(bytes) {
  return readCbor(bytes, false);
}
function decodeEnvelope(bytes) {
  return readCbor(bytes, true);
}
function encodeJson(value) {
  return JSON.stringify(
    toWire(value),
    (_key, part) => import_node_util.types.isUint8Array(part) ? { __type: "Uint8Array", data: Buffer.from(part.buffer, part.byteOffset, part.byteLength).toString("base64") } : part
  );
}
function decodeJson(text2) {
  return JSON.parse(text2, (_key, value) => {
    if (isTagged(value, "Uint8Array")) return new Uint8Array(Buffer.from(value.data, "base64"));
    return isTagged(value, "CBOR") ? decodeTagged(value) : value;
  });
}
function isTagged(value, type) {
  const tagged = value;
  if (typeof tagged !== "object" || tagged?.__type !== type || typeof tagged.data !== "string") return false;
  return Object.keys(tagged).length === 2;
}
function decodeTagged(value) {
  try {
    return decode(Buffer.from(value.data, "base64"));
  } catch {
    return value;
  }
}
function toWire(value) {
  if (typeof value === "string") return wellFormed(value);
  if (typeof value !== "object" || value === null) return value;
  if (import_node_util.types.isUint8Array(value)) return value instanceof Uint8Array ? value : new Uint8Array(value);
  if (import_node_util.types.isDate(value)) return value instanceof Date ? value : new Date(Number(value));
  if (Array.isArray(value)) return value.map(toWire);
  if (import_node_util.types.isNativeError(value)) {
    return toWire({ name: value.name, message: value.message, stack: value.stack });
  }
  if (!isPlainObject(value)) return value;
  const copy = {};
  for (const key of Object.keys(value)) {
    if (value[key] !== void 0) copy[key] = toWire(value[key]);
  }
  return copy;
}
function isPlainObject(value) {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

// src/wire/overBudget.ts
var OVER_BUDGET = "over_budget";
var CAUSES = 5;
var USUAL_WAIT = 1;
var LONGEST_WAIT = 60;
function isOverBudget(error) {
  return error?.code === OVER_BUDGET;
}
function overBudgetWait(error) {
  let cause = error;
  for (let i = 0; i < CAUSES && typeof cause === "object" && cause !== null; i++, cause = cause.cause) {
    if (isOverBudget(cause)) return spread(Math.min(LONGEST_WAIT, Number(cause.retryAfter) || USUAL_WAIT));
  }
  return void 0;
}
function spread(wait) {
  return wait * (1 + Math.random());
}

// src/wire/tooLarge.ts
var CAUSES2 = 5;
function tooLarge(error) {
  let cause = error;
  for (let i = 0; i < CAUSES2 && typeof cause === "object" && cause !== null; i++, cause = cause.cause) {
    if (cause.status === 413 && cause.code === "too_large") return { code: "too_large", message: String(cause.message) };
  }
  return void 0;
}
var FIRST_BYTES_SPEC = 4;
function failedForSize({ correlationId, specVersion, eventData }, { message }) {
  const sentence = `The result of the step is too large: ${message}`;
  const { stepName, workflowName } = eventData;
  const error = Number(specVersion) < FIRST_BYTES_SPEC ? { error: sentence } : { error: fatalError(sentence) };
  return { eventType: "step_failed", correlationId, specVersion, eventData: { stepName, workflowName, ...error } };
}
function fatalError(message) {
  const parts = [["FatalError", 1], { message: 2, stack: 3 }, message, `FatalError: ${message}`];
  return new TextEncoder().encode(`devl${JSON.stringify(parts)}`);
}
function parting(entities) {
  const middle = entities.length >> 1;
  for (let at = middle; at > 0; at--) if (entities[at] !== entities[at - 1]) return at;
  for (let at = middle + 1; at < entities.length; at++) if (entities[at] !== entities[at - 1]) return at;
  return void 0;
}

// src/delivery/anticipated.ts
var import_node_util3 = require("node:util");

// src/sdk/sdk.ts
var V5_MARK = /* @__PURE__ */ Symbol.for("@workflow/world//getWorldFn");
var SLOTS_MARK = /* @__PURE__ */ Symbol.for("@workflow/errors//StreamError");
function detectSdk() {
  return V5_MARK in globalThis ? "v5" : "v4";
}
var WORLD_MARKS = [/* @__PURE__ */ Symbol.for("@workflow/world//cache"), /* @__PURE__ */ Symbol.for("@workflow/world//stubbedCache")];
var LATER_MARKS = [V5_MARK, /* @__PURE__ */ Symbol.for("@workflow/errors//FatalError"), /* @__PURE__ */ Symbol.for("@workflow/core//registeredSteps"), /* @__PURE__ */ Symbol.for("WORKFLOW_STEP_CONTEXT_STORAGE")];
function isLegacySdk() {
  return WORLD_MARKS.some((mark) => mark in globalThis) && !LATER_MARKS.some((mark) => mark in globalThis);
}
function specVersionForSdk() {
  const named = Number(process.env["WORKFLOW_WORLD_SPEC_VERSION"]);
  if (Number.isInteger(named) && named > 0) return named;
  if (detectSdk() === "v4") return 3;
  if (!(SLOTS_MARK in globalThis)) return 5;
  const sealed = process.env["WORKFLOW_SEALED_LOG"];
  return sealed === "0" || sealed === "false" ? 6 : 7;
}

// src/wire/timestamps.ts
var import_node_util2 = require("node:util");
var ENTITY_TIMESTAMPS = /* @__PURE__ */ new Set(["createdAt", "updatedAt", "startedAt", "completedAt", "expiredAt", "retryAfter", "resumeAt", "tokenRetentionUntil", "occurredAt"]);
var EVENT_DATA_TIMESTAMPS = /* @__PURE__ */ new Set(["retryAfter", "resumeAt", "tokenRetentionUntil"]);
function eventDataToWire(eventData) {
  if (!isFields(eventData)) return eventData;
  let wire = eventData;
  for (const key of EVENT_DATA_TIMESTAMPS) {
    if (!import_node_util2.types.isDate(eventData[key])) continue;
    if (wire === eventData) wire = { ...eventData };
    wire[key] = Number(eventData[key]);
  }
  return wire;
}
function toMillis(value) {
  return import_node_util2.types.isDate(value) ? Number(value) : value;
}
function reviveEntity(entity) {
  if (!isFields(entity)) return entity;
  for (const key in entity) {
    const value = entity[key];
    if (value === null) delete entity[key];
    else if (typeof value === "number" && ENTITY_TIMESTAMPS.has(key)) entity[key] = new Date(value);
  }
  return entity;
}
function reviveEvent(event) {
  if (!isFields(event)) return event;
  reviveEntity(event);
  if (isFields(event["eventData"])) reviveTimestamps(event["eventData"], EVENT_DATA_TIMESTAMPS);
  return event;
}
function reviveTimestamps(fields, keys3) {
  for (const key in fields) {
    const value = fields[key];
    if (typeof value === "number" && keys3.has(key)) fields[key] = new Date(value);
  }
}
function isFields(value) {
  if (typeof value !== "object" || value === null) return false;
  if (Object.getPrototypeOf(value) === Object.prototype) return true;
  return !Array.isArray(value) && !import_node_util2.types.isUint8Array(value) && !import_node_util2.types.isDate(value);
}

// src/delivery/processWide.ts
var keys2 = /* @__PURE__ */ new Map();
function processWide(name, make) {
  let key = keys2.get(name);
  if (key === void 0) {
    key = /* @__PURE__ */ Symbol.for(`@world-redis/client//${name}`);
    keys2.set(name, key);
  }
  const shared = globalThis;
  return shared[key] ??= make();
}

// src/delivery/anticipated.ts
var NEVER_QUEUED = "__workflowUnserializableStepInput";
var LONGEST_NEVER_QUEUED = 1024;
function state() {
  return processWide("anticipated", () => {
    const { AsyncLocalStorage: AsyncLocalStorage2 } = require("node:async_hooks");
    return { deliveries: new AsyncLocalStorage2(), steps: /* @__PURE__ */ new Map(), off: false };
  });
}
async function inDelivery(prefix2, message, work) {
  const handler = parseQueueName(prefix2);
  if (!handler || !isFields(message) || detectSdk() !== "v4" || state().off) return work();
  const { kind, namespace } = handler;
  const delivery = { kind, namespace, message, run: void 0, open: [], ended: false };
  const { deliveries: deliveries5, steps } = state();
  const runId = kind === "step" ? message["workflowRunId"] : void 0;
  if (runId !== void 0) steps.set(runId, (steps.get(runId) ?? 0) + 1);
  try {
    return await deliveries5.run(delivery, work);
  } finally {
    delivery.ended = true;
    const others = (steps.get(runId) ?? 1) - 1;
    if (others > 0) steps.set(runId, others);
    else steps.delete(runId);
    if (delivery.open.some(({ passedOver }) => passedOver)) state().off = true;
  }
}
function anticipated(runId, event) {
  const delivery = current();
  if (!delivery || runId === null || event["specVersion"] === void 0) return void 0;
  return delivery.kind === "step" ? afterStep(delivery, runId, event) : afterCreation(delivery, runId, event);
}
function afterStep({ namespace, message }, runId, event) {
  const { workflowRunId, workflowName, stepId } = message;
  const ends = event["eventType"] === "step_completed" || event["eventType"] === "step_failed";
  if (!ends || (state().steps.get(runId) ?? 0) > 1) return void 0;
  if (workflowRunId !== runId || stepId !== event["correlationId"] || typeof workflowName !== "string") return void 0;
  return {
    queueName: `__${namespace === void 0 ? "" : `${namespace}_`}wkf_workflow_${workflowName}`,
    message: { runId, traceCarrier: {}, requestedAt: /* @__PURE__ */ new Date() },
    options: {}
  };
}
function afterCreation({ message, run }, runId, event) {
  const { eventType, correlationId: stepId, eventData } = event;
  if (eventType !== "step_created" || message["runId"] !== runId || !run || typeof stepId !== "string") return void 0;
  if (!isFields(eventData) || typeof eventData["stepName"] !== "string" || neverQueued(eventData["input"])) return void 0;
  return {
    queueName: `__wkf_step_${eventData["stepName"]}`,
    message: {
      workflowName: run["workflowName"],
      workflowRunId: runId,
      workflowStartedAt: Number(run["startedAt"]),
      stepId,
      traceCarrier: {},
      requestedAt: /* @__PURE__ */ new Date()
    },
    options: { idempotencyKey: stepId, headers: {} }
  };
}
function neverQueued(input) {
  if (!import_node_util3.types.isUint8Array(input) || input.byteLength > LONGEST_NEVER_QUEUED) return false;
  return Buffer.from(input.buffer, input.byteOffset, input.byteLength).includes(NEVER_QUEUED);
}
function noteRun(runId, event, result) {
  const delivery = current();
  if (!delivery || event["eventType"] !== "run_started" || delivery.message["runId"] !== runId || !isFields(result)) return;
  const { run } = result;
  if (isFields(run) && import_node_util3.types.isDate(run["startedAt"])) delivery.run = run;
}
function keepAnticipated(config, enqueued, reply) {
  current()?.open.push({ config, enqueued, reply, passedOver: false });
}
function takeAnticipated(config, wanted) {
  const open2 = current()?.open;
  if (!open2 || open2.length === 0) return void 0;
  const at = open2.findIndex((one) => sameService(one.config, config) && (0, import_node_util3.isDeepStrictEqual)(sentFields(one.enqueued), sentFields(wanted)));
  if (at !== -1) return open2.splice(at, 1)[0]?.reply;
  for (const one of open2) one.passedOver ||= subject(one.enqueued) === subject(wanted);
  return void 0;
}
function current() {
  const { deliveries: deliveries5, off } = state();
  const delivery = off ? void 0 : deliveries5.getStore();
  return delivery?.ended ? void 0 : delivery;
}
function sentFields({ queueName, message, options }) {
  const { idempotencyKey, delaySeconds, headers = {}, deploymentId, specVersion } = options;
  const content = isFields(message) ? { ...message, requestedAt: void 0 } : message;
  return [queueName, content, idempotencyKey, delaySeconds, headers, deploymentId, specVersion];
}
function subject({ message }) {
  return isFields(message) ? message["stepId"] ?? message["runId"] : void 0;
}

// src/delivery/deliveries.ts
async function inTurn(messageId, whole, work) {
  const underWay = processWide("deliveries", () => /* @__PURE__ */ new Map());
  let waited = false;
  for (let earlier = underWay.get(messageId); earlier; earlier = underWay.get(messageId)) {
    const reply = await earlier;
    waited = true;
    if (whole && reply.status === 200) return reply;
  }
  const mine = work(waited).finally(() => underWay.delete(messageId));
  underWay.set(messageId, mine);
  return mine;
}

// src/delivery/fanIn.ts
var import_node_async_hooks = require("node:async_hooks");
var deliveries = () => processWide("stepDeliveries", () => new import_node_async_hooks.AsyncLocalStorage());
var reading = () => processWide("stepReads", () => /* @__PURE__ */ new Map());
function inStepDelivery(message, handle) {
  const { runId, stepId } = message ?? {};
  if (typeof runId !== "string" || typeof stepId !== "string") return handle();
  return deliveries().run({ runId, stepId, hasRead: false }, handle);
}
function readTogether(runId, read) {
  const delivery = deliveries().getStore();
  if (delivery?.runId !== runId || delivery.hasRead) return read();
  delivery.hasRead = true;
  const { stepId } = delivery;
  return new Promise((resolve, reject) => {
    const reader = { stepId, resolve, reject };
    const next = reading().get(runId);
    if (next) next.push(reader);
    else void readFor(runId, [reader], read);
  });
}
async function readFor(runId, first, read) {
  for (let readers = first; readers.length > 0; readers = reading().get(runId) ?? []) {
    reading().set(runId, []);
    try {
      share(await read(), readers);
    } catch (error) {
      for (const reader of readers) reader.reject(error);
    }
  }
  reading().delete(runId);
}
function share(page, readers) {
  const events = page.data;
  const last2 = noStepOpen(events) ? lastToEnd(events, readers) : void 0;
  const mine = last2?.reader ?? readers[0];
  for (const reader of readers) {
    if (reader === mine) continue;
    reader.resolve(last2 ? { data: events.slice(0, last2.at), cursor: null, hasMore: false } : { ...page, data: [...events] });
  }
  mine?.resolve(page);
}
function noStepOpen(events) {
  const open2 = /* @__PURE__ */ new Set();
  for (const { eventType, correlationId } of events) {
    if (eventType === "step_created") open2.add(correlationId);
    else if (isEnd(eventType)) open2.delete(correlationId);
  }
  return open2.size === 0;
}
function lastToEnd(events, readers) {
  for (let at = events.length - 1; at >= 0; at--) {
    const event = events[at];
    const reader = isEnd(event["eventType"]) && readers.find(({ stepId }) => stepId === event["correlationId"]);
    if (reader) return { reader, at };
  }
  return void 0;
}
function isEnd(eventType) {
  return eventType === "step_completed" || eventType === "step_failed";
}

// src/delivery/givenStreams.ts
var import_promises = require("node:timers/promises");
var import_node_util4 = require("node:util");
var LONGEST_INPUT = 64 * 1024 * 1024;
var MOST_WRITERS = 16;
function deliveries2() {
  return processWide("givenStreams", () => {
    const { AsyncLocalStorage: AsyncLocalStorage2 } = require("node:async_hooks");
    return new AsyncLocalStorage2();
  });
}
function current2() {
  return detectSdk() === "v5" ? deliveries2().getStore() : void 0;
}
function withGivenStreams(work) {
  return detectSdk() === "v5" ? deliveries2().run({ steps: /* @__PURE__ */ new Map(), ready: void 0 }, work) : work();
}
function noteBegin({ eventType, correlationId: stepId, eventData }, answer) {
  const delivery = eventType === "run_started" || eventType === "step_started" ? current2() : void 0;
  if (!delivery) return;
  if (eventType === "run_started") {
    delivery.ready = answer.then(
      () => (0, import_promises.setImmediate)(),
      () => (0, import_promises.setImmediate)()
    );
    return;
  }
  const input = isFields(eventData) ? eventData["input"] : void 0;
  if (typeof stepId !== "string" || input === void 0) return;
  delivery.steps.set(stepId, { stepId, attempt: 1, input });
  answer.catch(() => delivery.steps.delete(stepId));
}
function noteGiven(stepId, attempt, input) {
  const delivery = current2();
  if (!delivery) return;
  const known2 = delivery.steps.get(stepId);
  if (known2) known2.attempt = attempt;
  else if (input !== void 0) delivery.steps.set(stepId, { stepId, attempt, input });
}
function noteTaken(stepId) {
  current2()?.steps.delete(stepId);
}
function writersOf(name) {
  const delivery = current2();
  return delivery && findWriters(delivery, JSON.stringify(name), [...delivery.steps.values()]);
}
async function findWriters(delivery, name, steps) {
  const found = await holdersOf(name, steps);
  if (found.length > 0 || !delivery.ready) return found;
  await delivery.ready;
  return holdersOf(name, [...delivery.steps.values()]);
}
async function holdersOf(name, steps) {
  const holders = [];
  for (const step of steps) {
    const { stepId, attempt } = step;
    const text2 = await (step.text ??= textOf(step.input));
    if (text2?.includes(name)) holders.push({ stepId, attempt });
  }
  return holders.length > MOST_WRITERS ? [] : holders;
}
async function textOf(input) {
  if (!import_node_util4.types.isUint8Array(input)) return void 0;
  const bytes = Buffer.from(input.buffer, input.byteOffset, input.byteLength);
  const format = bytes.toString("latin1", 0, 4);
  if (format !== "gzip" && format !== "zstd") return bytes;
  const { gunzip, zstdDecompress } = require("node:zlib");
  try {
    return await (0, import_node_util4.promisify)(format === "gzip" ? gunzip : zstdDecompress)(bytes.subarray(4), { maxOutputLength: LONGEST_INPUT });
  } catch {
    return void 0;
  }
}

// src/delivery/headerText.ts
function headerText(value) {
  if (value === null) return null;
  try {
    if (value.includes("%")) return decodeURIComponent(value);
    if (/[\u0080-\uffff]/.test(value)) return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(value, "latin1"));
  } catch {
  }
  return value;
}

// src/delivery/logEnd.ts
var AGAIN_AFTER = 1;
function deliveries3() {
  return processWide("logEnd", () => {
    const { AsyncLocalStorage: AsyncLocalStorage2 } = require("node:async_hooks");
    return new AsyncLocalStorage2();
  });
}
function withLogEnd(message, work) {
  const { runId, workflowRunId } = message ?? {};
  const id = runId ?? workflowRunId;
  if (typeof id !== "string") return work();
  return deliveries3().run({ runId: id, end: void 0, lost: false, sdkKnows: false, loads: 0 }, work);
}
function beforeWrite(runId) {
  const delivery = of(runId);
  if (!delivery) return void 0;
  if (delivery.lost) {
    delivery.sdkKnows = true;
    throw new PreconditionFailedError(`Redis has lost events of run ${delivery.runId} that this delivery has seen; it is replayed from what is there`);
  }
  const { end: end2, loads } = delivery;
  return {
    end: end2,
    answered: (result) => noteResult(delivery, result),
    failed: (error) => {
      if (isLogEndRefusal(error) && loads === delivery.loads) delivery.lost = delivery.sdkKnows = true;
    }
  };
}
function notePage(runId, events, whole) {
  const delivery = of(runId);
  if (!delivery) return;
  if (!whole) {
    note(delivery, events.at(-1));
    return;
  }
  if (delivery.lost && (!delivery.sdkKnows || detectSdk() === "v4")) return;
  delivery.lost = delivery.sdkKnows = false;
  delivery.loads++;
  delivery.end = void 0;
  note(delivery, events.at(-1));
}
function noteRefusedCursor(runId, error) {
  const delivery = of(runId);
  if (delivery?.end && isRefusedCursor(error)) delivery.lost = true;
}
function isRefusedCursor(error) {
  return error?.status === 400;
}
function replayWait(error) {
  return isLogEndRefusal(error) ? AGAIN_AFTER : void 0;
}
function isLogEndRefusal(error) {
  return error?.name === "PreconditionFailedError";
}
function of(runId) {
  const delivery = runId === null ? void 0 : deliveries3().getStore();
  return delivery?.runId === runId ? delivery : void 0;
}
function noteResult(delivery, result) {
  if (!isFields(result)) return;
  const { event, events } = result;
  note(delivery, event);
  if (Array.isArray(events)) note(delivery, events.at(-1));
}
function note(delivery, event) {
  if (!isFields(event)) return;
  const position = positionOf(event);
  const createdAt = Number(event["createdAt"]);
  if (position === void 0 || !(createdAt > 0) || position < (delivery.end?.position ?? 0)) return;
  delivery.end = { position, createdAt };
}
var DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
var SLOT = /^evnt_(\d{26})$/;
var ULID = /^wevt_[\dA-HJKMNP-TV-Z]{19}([\dA-HJKMNP-TV-Z]{7})$/;
function positionOf({ eventId }) {
  if (typeof eventId !== "string") return void 0;
  const slot = SLOT.exec(eventId)?.[1];
  if (slot !== void 0) return Number(slot) - 1;
  const tail = ULID.exec(eventId)?.[1];
  if (tail === void 0) return void 0;
  let bits = 0;
  for (const digit of tail) bits = bits * 32 + DIGITS.indexOf(digit);
  return bits % 2 ** 32;
}

// src/delivery/signature.ts
var import_node_crypto = require("node:crypto");

// src/delivery/seenNonces.ts
var MOST_NONCES = 1e5;
var SeenNonces = class {
  constructor(windowMs, most = MOST_NONCES) {
    this.windowMs = windowMs;
    this.most = most;
  }
  windowMs;
  most;
  /** Nonce → time of the signature, in order of arrival. */
  #signedAt = /* @__PURE__ */ new Map();
  /** A nonce signed at this time or earlier may have been forgotten, so it is refused. */
  #forgotten = Number.NEGATIVE_INFINITY;
  /** Whether the nonce is new; afterwards it is not. */
  add(nonce2, signedAt, now) {
    if (signedAt <= this.#forgotten || this.#signedAt.has(nonce2)) return false;
    this.#signedAt.set(nonce2, signedAt);
    this.#forgetTheOld(now);
    return true;
  }
  #forgetTheOld(now) {
    for (const [nonce2, signedAt] of this.#signedAt) {
      const expired = signedAt < now - this.windowMs;
      if (!expired && this.#signedAt.size <= this.most) return;
      if (!expired) this.#forgotten = Math.max(this.#forgotten, signedAt);
      this.#signedAt.delete(nonce2);
    }
  }
};
function seenNonces(windowMs) {
  return processWide("nonces", () => new SeenNonces(windowMs));
}

// src/delivery/signature.ts
var WINDOW_MS = 5 * 6e4;
var HEADER = "x-world-signature";
var PRELOAD_HEADER = "x-world-redis-attached";
var TOKEN_LABEL = "world-redis delivery signature v1";
function signingKeys({ signingKeys: named, tokens }) {
  if (named.length > 0) return named.map((key) => Buffer.from(key, "utf8"));
  return tokens.map((token) => (0, import_node_crypto.createHmac)("sha256", token).update(TOKEN_LABEL).digest());
}
function refusalOfHeaders(headers, now) {
  const text2 = headers.get(HEADER);
  if (text2 === null) return "the signature is missing";
  const signature = parse2(text2);
  if (!signature) return "the signature cannot be read";
  const age = now - Number(signature.timestamp);
  if (age > WINDOW_MS) return "the signature is too old; do the clocks differ?";
  if (age < -WINDOW_MS) return "the signature is from the future; do the clocks differ?";
  return void 0;
}
function refusalOfDelivery(headers, kind, body, keys3, now) {
  const unfit = refusalOfHeaders(headers, now);
  const signature = parse2(headers.get(HEADER) ?? "");
  if (unfit !== void 0 || !signature) return unfit;
  const signed = signedText(headers, kind, signature, body);
  let match = false;
  for (const key of keys3) {
    const expected = (0, import_node_crypto.createHmac)("sha256", key).update(signed).digest();
    for (const value of signature.values) if ((0, import_node_crypto.timingSafeEqual)(value, expected)) match = true;
  }
  if (!match) return "the signature is wrong; do the service and this app have the same key?";
  const first = seenNonces(WINDOW_MS).add(signature.nonce, Number(signature.timestamp), now);
  return first ? void 0 : "this delivery was received before";
}
function warnOfUnsigned(headers) {
  const signed = headers.has(HEADER);
  if (!signed && process.env["NODE_ENV"] !== "production") return;
  const warned = processWide("unsigned", () => ({ once: false }));
  if (warned.once) return;
  warned.once = true;
  const why = signed ? "the service signs its deliveries" : "this is production";
  process.stderr.write(
    `[world-redis] WARNING: ${why}, but this app has no key, so it accepts any request to its workflow routes. Set WORKFLOW_WORLD_TOKEN or WORKFLOW_WORLD_SIGNING_KEY, as on the service.
`
  );
}
function signedText(headers, kind, { timestamp, nonce: nonce2 }, body) {
  const sent = (name) => headers.get(name) ?? "";
  const preloadLength = sent(PRELOAD_HEADER);
  return [
    ...["v1", timestamp, nonce2, kind],
    ...[sent("x-vqs-message-id"), sent("x-vqs-queue-name"), sent("x-vqs-message-attempt"), sent("content-type")],
    (0, import_node_crypto.createHash)("sha256").update(body).digest("hex"),
    ...preloadLength === "" ? [] : [preloadLength]
  ].join("\n");
}
function parse2(text2) {
  const fields = text2.split(",").map((field) => field.trim().split("="));
  const all = (name) => fields.filter(([key]) => key === name).map(([, value]) => value ?? "");
  const [timestamp, nonce2] = [all("t"), all("n")];
  const values = all("v1").filter((value) => /^[0-9a-f]{64}$/.test(value));
  if (timestamp.length !== 1 || nonce2.length !== 1 || values.length === 0) return void 0;
  if (!/^\d{1,15}$/.test(timestamp[0]) || !/^[\w-]{16,64}$/.test(nonce2[0])) return void 0;
  return { timestamp: timestamp[0], nonce: nonce2[0], values: values.map((value) => Buffer.from(value, "hex")) };
}

// src/delivery/preload.ts
function preloadable(config) {
  return detectSdk() === "v4" && taken(config) ? ["run_started"] : [];
}
function taken(config) {
  return config.fastPaths.has("preload") && trusted(config);
}
function trusted({ signingKeys: signingKeys2, tokens }) {
  return signingKeys2.length > 0 || tokens.length > 0 || process.env["NODE_ENV"] !== "production";
}
function deliveries4() {
  return processWide("preload", () => {
    const { AsyncLocalStorage: AsyncLocalStorage2 } = require("node:async_hooks");
    return new AsyncLocalStorage2();
  });
}
function splitBody(headers, body) {
  const length = headers.get(PRELOAD_HEADER);
  if (length === null) return { message: body };
  const at = /^[1-9]\d{0,8}$/.test(length) ? body.byteLength - Number(length) : 0;
  return at > 0 ? { message: body.subarray(0, at), preload: body.subarray(at) } : void 0;
}
async function withPreload(config, bytes, work) {
  if (detectSdk() !== "v4") return work();
  const delivery = { config, bytes: taken(config) ? bytes : void 0 };
  try {
    return await deliveries4().run(delivery, work);
  } finally {
    delivery.bytes = void 0;
  }
}
function takePreload(config, runId, request2) {
  const delivery = current3();
  const bytes = spendPreload();
  if (!delivery || !bytes || !sameService(config(), delivery.config) || !isBareStart(request2())) return void 0;
  try {
    const answer = decode(bytes);
    const run = isFields(answer) ? answer["run"] : void 0;
    return isFields(run) && run["runId"] === runId && run["status"] === "running" ? answer : void 0;
  } catch {
    return void 0;
  }
}
function spendPreload() {
  const delivery = current3();
  const bytes = delivery?.bytes;
  if (delivery) delivery.bytes = void 0;
  return bytes;
}
function noteDeliveredStep(step) {
  const delivery = current3();
  if (delivery) delivery.step = step;
}
function deliveredStep() {
  return current3()?.step;
}
function current3() {
  return detectSdk() === "v4" ? deliveries4().getStore() : void 0;
}
function isBareStart({ event, params }) {
  const { eventType, specVersion, ...more } = event;
  const others = [...Object.values(more), ...Object.values(params)];
  return eventType === "run_started" && typeof specVersion === "number" && others.every((value) => value === void 0);
}

// src/delivery/identity.ts
var import_node_crypto2 = require("node:crypto");

// src/delivery/ownWorkflows.ts
var import_node_fs = require("node:fs");
var FOLDERS = [
  ...["", "app/", "src/app/", "src/routes/", "src/pages/"].map((routes) => `${routes}.well-known/workflow/v1`),
  ...[".nitro", "node_modules/.nitro", ".nuxt", ".nestjs"].map((build) => `${build}/workflow`)
];
var MOST_NAMES = 200;
var MOST_BYTES = 8192;
var FRESH_MS = 5e3;
function ownWorkflows(now = Date.now()) {
  const known2 = processWide("workflows", () => ({ names: void 0, readAt: Number.NEGATIVE_INFINITY }));
  if (Math.abs(now - known2.readAt) >= FRESH_MS) {
    known2.names = namesBelow(process.cwd());
    known2.readAt = now;
  }
  return known2.names;
}
function namesBelow(root) {
  const names = /* @__PURE__ */ new Set();
  for (const folder of FOLDERS) {
    for (const name of namesIn(`${root}/${folder}/manifest.json`)) names.add(name);
  }
  const sorted = [...names].sort();
  const fits = sorted.length > 0 && sorted.length <= MOST_NAMES && Buffer.byteLength(sorted.join("\n")) <= MOST_BYTES;
  return fits ? sorted : void 0;
}
function namesIn(path) {
  let manifest;
  try {
    manifest = JSON.parse((0, import_node_fs.readFileSync)(path, "utf8"));
  } catch {
    return [];
  }
  const files = manifest?.workflows ?? {};
  return Object.values(files).flatMap((functions) => Object.values(functions ?? {}).map((one) => one?.workflowId)).filter((name) => typeof name === "string" && name !== "" && !name.includes("\n"));
}

// src/delivery/identity.ts
var PROOF_LABEL = "world-redis probe v1";
function identity() {
  const workflows = ownWorkflows();
  return { nonce: nonce(), ...workflows && { workflows } };
}
function proofFor(probe) {
  return (0, import_node_crypto2.createHmac)("sha256", nonce()).update(`${PROOF_LABEL}
${probe}`).digest("hex");
}
function nonce() {
  return processWide("nonce", () => ({ text: (0, import_node_crypto2.randomBytes)(16).toString("hex") })).text;
}

// src/delivery/probe.ts
var HEADER2 = "x-world-redis-probe";
var BODY = Buffer.from("{}");
function answerToProbe(headers, config) {
  if (!headers.has(HEADER2)) return void 0;
  const keys3 = signingKeys(config);
  const forged = keys3.length > 0 ? refusalOfDelivery(headers, "flow", BODY, keys3, Date.now()) : void 0;
  if (forged !== void 0) return forged;
  const workflows = ownWorkflows();
  return {
    deployment: config.deploymentId,
    sdk: detectSdk(),
    proof: proofFor(headers.get("x-vqs-message-id") ?? ""),
    ...workflows && { workflows }
  };
}

// src/delivery/requestBody.ts
var import_node_diagnostics_channel = require("node:diagnostics_channel");
var MESSAGE_ID = "x-vqs-message-id";
var ATTEMPT = "x-vqs-message-attempt";
function arrived() {
  return processWide("arrived", () => {
    const open2 = /* @__PURE__ */ new Map();
    (0, import_node_diagnostics_channel.subscribe)("http.server.request.start", (event) => note2(open2, event));
    return open2;
  });
}
function note2(open2, { request: request2, response }) {
  const id = request2.headers[MESSAGE_ID];
  if (typeof id !== "string") return;
  open2.set(id, [...open2.get(id) ?? [], request2]);
  response.once("close", () => {
    const others = open2.get(id)?.filter((other) => other !== request2) ?? [];
    if (others.length > 0) open2.set(id, others);
    else open2.delete(id);
  });
}
function noteArrivals() {
  arrived();
}
async function bodyOf(request2, direct) {
  const incoming = direct ? incomingOf(request2) : void 0;
  return incoming ? await readAll(incoming) : new Uint8Array(await request2.arrayBuffer());
}
function incomingOf({ headers }) {
  const [incoming, ...others] = arrived().get(headers.get(MESSAGE_ID) ?? "") ?? [];
  const untouched = incoming?.readableFlowing === null && !incoming.readableDidRead && !incoming.destroyed;
  return untouched && others.length === 0 && incoming.headers[ATTEMPT] === headers.get(ATTEMPT) ? incoming : void 0;
}
function readAll(incoming) {
  return new Promise((resolve, reject) => {
    const parts = [];
    incoming.on("data", (part) => parts.push(part));
    incoming.once("end", () => {
      const whole = parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts);
      resolve(new Uint8Array(whole.buffer, whole.byteOffset, whole.byteLength));
    });
    incoming.once("error", reject);
    incoming.once("close", () => reject(new Error("the connection closed within the body")));
    incoming.on("pause", () => incoming.resume());
  });
}

// src/delivery/sdkVersion.ts
var import_node_fs2 = require("node:fs");
var import_node_module = require("node:module");
var import_node_path = require("node:path");

// src/sdk/testedSdks.ts
var GUESSING = ["anticipate", "fan-in", "request-body"];
var TESTED = [
  { shown: "4.8.x", pattern: /^4\.8\.\d+$/ },
  { shown: "5.0.0-beta.50 to 55", pattern: /^5\.0\.0-beta\.5[0-5]$/ }
];

// src/delivery/sdkVersion.ts
var state2 = () => processWide("sdkVersion", () => ({}));
function noteStart({ eventType, eventData }) {
  if (eventType !== "run_created" || !isFields(eventData)) return;
  const context = eventData["executionContext"];
  const version = isFields(context) ? context["workflowCoreVersion"] : void 0;
  if (typeof version === "string") state2().own = version;
}
function fastPathsForSdk(on) {
  const guessing = GUESSING.filter((path) => on.has(path));
  if (guessing.length === 0) return on;
  const versions = sdkVersions();
  if (versions.length > 0 && versions.every(isTested)) return on;
  logOnce(versions, guessing);
  const rest = new Set(on);
  for (const path of guessing) rest.delete(path);
  return rest;
}
function isTested(version) {
  return TESTED.some(({ pattern }) => pattern.test(version));
}
function sdkVersions() {
  const { own } = state2();
  if (own !== void 0) return [own];
  const generation = detectSdk().slice(1);
  const versions = state2().installed ??= installedVersions(process.argv[1]);
  return versions.every((version) => version.startsWith(`${generation}.`)) ? versions : [];
}
function installedVersions(script) {
  try {
    const folders = [process.cwd(), ...script === void 0 ? [] : [(0, import_node_path.dirname)(script)]];
    return [...new Set(folders.flatMap((folder) => coreVersionFrom(folder) ?? []))];
  } catch {
    return [];
  }
}
function coreVersionFrom(folder) {
  const core = packageFolder("@workflow/core", packageFolder("workflow", folder) ?? folder);
  if (core === void 0) return void 0;
  const { version } = JSON.parse((0, import_node_fs2.readFileSync)((0, import_node_path.join)(core, "package.json"), "utf8"));
  return typeof version === "string" ? version : void 0;
}
function packageFolder(name, from) {
  for (const folder of (0, import_node_module.createRequire)((0, import_node_path.join)(from, "package.json")).resolve.paths(name) ?? []) {
    try {
      return (0, import_node_path.dirname)((0, import_node_fs2.realpathSync)((0, import_node_path.join)(folder, name, "package.json")));
    } catch {
    }
  }
  return void 0;
}
function logOnce(versions, off) {
  const shared = state2();
  if (shared.logged) return;
  shared.logged = true;
  const which = versions.length > 0 ? `Workflow SDK ${versions.join(" or ")} is not among the tested versions (${TESTED.map(({ shown }) => shown).join(", ")})` : "the version of the Workflow SDK is unknown until this process starts a run, for node_modules/@workflow/core/package.json is not here";
  process.stderr.write(`[world-redis] ${which}, so these fast paths are off: ${off.join(", ")} (docs/fast-paths.md).
`);
}

// src/delivery/ownDeployments.ts
var MOST = 1e3;
var announced = () => processWide("deployments", () => /* @__PURE__ */ new Set());
function noteDeployment(deploymentId) {
  const all = announced();
  if (all.size < MOST) all.add(deploymentId);
}
function isAnnounced(deploymentId) {
  return announced().has(deploymentId);
}

// src/delivery/target.ts
var DEPLOYMENT = "x-world-redis-deployment";
var WORKFLOW = "x-world-redis-workflow";
function wrongTarget(headers, queueName, { deploymentId }) {
  const wanted = headerText(headers.get(DEPLOYMENT));
  if (wanted !== null && wanted !== deploymentId && !isAnnounced(wanted)) {
    return `the delivery is for deployment "${wanted}", which has registered this address, too; give each app its own WORKFLOW_BASE_URL`;
  }
  const name = headers.has(WORKFLOW) ? parseQueueName(queueName) : void 0;
  if (name?.kind !== "workflow" || ownWorkflows()?.includes(name.rest) !== false) return void 0;
  return `this app has no workflow "${name.rest}", and another app that has it has registered this address, too; give each app its own WORKFLOW_BASE_URL, and its own WORKFLOW_DEPLOYMENT_ID`;
}

// src/delivery/thisProcess.ts
var import_node_crypto3 = require("node:crypto");

// src/address/probe.ts
var import_node_http = require("node:http");

// src/address/basePaths.ts
var SDK_BASE_PATH = /* @__PURE__ */ Symbol.for("@workflow/core/basePath");
var NEXT_CONFIG = "__NEXT_PRIVATE_STANDALONE_CONFIG";
var NITRO_VARIABLES = ["NUXT_APP_BASE_URL", "NITRO_APP_BASE_URL"];
function basePaths() {
  const known2 = [globalThis[SDK_BASE_PATH], nextBasePath(), ...NITRO_VARIABLES.map((name) => process.env[name])];
  return [.../* @__PURE__ */ new Set([...known2.flatMap((value) => asBasePath(value) ?? []), ""])];
}
function nextBasePath() {
  try {
    return JSON.parse(process.env[NEXT_CONFIG] ?? "{}")?.basePath;
  } catch {
    return void 0;
  }
}
function asBasePath(value) {
  if (typeof value !== "string" || !/^\/[^/?#\\]/.test(value)) return void 0;
  const path = new URL(value, "http://localhost").pathname.replace(/\/+$/, "");
  return path === "" ? void 0 : path;
}

// src/address/probe.ts
var TIMEOUT_MS = 6e4;
var READ_BYTES = 16 * 1024;
var FLOW_ROUTE = "/.well-known/workflow/v1/flow";
async function probeHealth(baseUrl) {
  const url = `${baseUrl}${FLOW_ROUTE}?__health`;
  try {
    const { status, headers, body } = await send("POST", url);
    if (headers["x-world-redis-client"] !== void 0) return { ok: true };
    const healthy = /"healthy"\s*:\s*true/.test(body) || body.includes("endpoint is healthy");
    if (status >= 200 && status <= 299 && healthy) return { ok: true };
    return { ok: false, why: `POST ${url}: ${status}` };
  } catch (error) {
    return { ok: false, why: `POST ${url}: ${error instanceof Error ? error.message : String(error)}` };
  }
}
var PROCESS_HEADER = "x-world-redis-process";
async function reachesProcess(baseUrl, id) {
  try {
    const { status, headers } = await send("POST", `${baseUrl}${FLOW_ROUTE}`, { [PROCESS_HEADER]: id });
    return status === 200 && headers[PROCESS_HEADER] === id;
  } catch {
    return false;
  }
}
async function basePathAt(origin) {
  try {
    const { status, headers, body } = await send("GET", `${origin}/`);
    if (status >= 300 && status <= 399 && headers.location !== void 0) {
      const target = new URL(headers.location, origin);
      return target.origin === new URL(origin).origin ? asBasePath(target.pathname) : void 0;
    }
    return status === 404 ? asBasePath(/(?:did you mean to visit |<a href=")[^/]{0,40}(\/[^\s"'<>]*)/i.exec(body)?.[1]) : void 0;
  } catch {
    return void 0;
  }
}
function send(method, url, headers = {}) {
  const body = method === "POST" ? "{}" : "";
  const typed = method === "POST" ? { "content-type": "application/json" } : {};
  return new Promise((resolve, reject) => {
    const outgoing2 = (0, import_node_http.request)(url, { method, agent: false, headers: { "user-agent": "world-redis", "content-length": body.length, ...typed, ...headers } }, (incoming) => {
      let answer = "";
      const done = () => {
        clearTimeout(timer);
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: answer });
        outgoing2.destroy();
      };
      incoming.setEncoding("utf8");
      incoming.on("data", (text2) => {
        answer += text2;
        if (answer.length >= READ_BYTES) done();
      });
      incoming.on("end", done);
      incoming.on("error", reject);
    });
    const timer = setTimeout(() => outgoing2.destroy(new Error(`no answer within ${TIMEOUT_MS / 1e3} s`)), TIMEOUT_MS);
    timer.unref();
    outgoing2.on("socket", (socket) => socket.unref());
    outgoing2.on("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    outgoing2.end(body);
  });
}

// src/delivery/thisProcess.ts
var processId = () => processWide("process", import_node_crypto3.randomUUID);
function answerToSearch(headers) {
  const wanted = headers.get(PROCESS_HEADER);
  if (wanted === null) return void 0;
  const here = wanted === processId();
  return Response.json({ here }, { headers: { "x-world-redis-client": "1", ...here && { [PROCESS_HEADER]: wanted } } });
}

// src/delivery/queueHandler.ts
function createQueueHandler(config, prefix2, handler) {
  if (readFastPaths().has("request-body")) noteArrivals();
  return async (request2) => {
    const toSearch = answerToSearch(request2.headers);
    if (toSearch) return toSearch;
    const settings = config();
    const keys3 = signingKeys(settings);
    const stranger = keys3.length > 0 ? refusalOfHeaders(request2.headers, Date.now()) : void 0;
    if (stranger !== void 0) return refuseStranger(stranger);
    const probed = answerToProbe(request2.headers, settings);
    if (typeof probed === "string") return refuseStranger(probed);
    if (probed !== void 0) return Response.json(probed, { headers: OURS });
    const queueName = headerText(request2.headers.get("x-vqs-queue-name"));
    const messageId = request2.headers.get("x-vqs-message-id");
    const attempt = Number(request2.headers.get("x-vqs-message-attempt") ?? Number.NaN);
    if (!queueName || !messageId || !Number.isInteger(attempt) || attempt < 1) {
      return refuse(400, "Missing required headers");
    }
    const name = nameForHandler(queueName, prefix2);
    if (name === void 0) return refuse(400, "Unhandled queue");
    const fast = fastPathsForSdk(settings.fastPaths);
    let body;
    try {
      body = await bodyOf(request2, fast.has("request-body"));
    } catch (error) {
      return refuse(500, `The request body was gone before the handler could read it (${messageOf(error)}). Keep middleware and proxies away from /.well-known/workflow/.`);
    }
    if (keys3.length > 0) {
      const kind = parseQueueName(queueName)?.kind === "step" ? "step" : "flow";
      const forged = refusalOfDelivery(request2.headers, kind, body, keys3, Date.now());
      if (forged !== void 0) return refuseStranger(forged);
    } else {
      warnOfUnsigned(request2.headers);
    }
    const elsewhere = wrongTarget(request2.headers, queueName, settings);
    if (elsewhere !== void 0) return Response.json({ error: elsewhere, deployment: settings.deploymentId }, { status: 421, headers: OURS });
    if (body.byteLength === 0) return refuse(400, "Missing request body");
    const parts = splitBody(request2.headers, body);
    if (!parts) return refuse(400, "The body is shorter than its preload");
    let message;
    try {
      message = decodeMessage(parts.message, request2.headers.get("content-type") ?? "");
    } catch (error) {
      return refuse(400, `The message cannot be read: ${messageOf(error)}`);
    }
    const work = () => handler(message, { attempt, queueName: name, messageId });
    const inContext = () => fast.has("anticipate") ? inDelivery(prefix2, message, work) : work();
    const handle = () => withLogEnd(message, () => withGivenStreams(inContext));
    const { status, body: reply } = await inTurn(messageId, isStepOfItsOwn(queueName, message), (waited) => {
      const answer = () => replyOf(() => withPreload(settings, waited ? void 0 : parts.preload, handle));
      return fast.has("fan-in") ? inStepDelivery(message, answer) : answer();
    });
    return new Response(JSON.stringify(reply), { status, headers: { "content-type": "application/json", ...OURS } });
  };
}
async function replyOf(handle) {
  try {
    const result = await handle();
    const timeoutSeconds = result?.timeoutSeconds;
    if (typeof timeoutSeconds === "number" && Number.isFinite(timeoutSeconds)) {
      return { status: 200, body: { timeoutSeconds: Math.max(0, timeoutSeconds) } };
    }
    return { status: 200, body: { ok: true } };
  } catch (error) {
    const wait = overBudgetWait(error) ?? replayWait(error);
    if (wait !== void 0) return { status: 200, body: { timeoutSeconds: wait } };
    const refused = tooLarge(error);
    return { status: 500, body: { error: messageOf(error), ...refused && { refused } } };
  }
}
function isStepOfItsOwn(queueName, message) {
  const stepId = message?.stepId;
  return typeof stepId === "string" || parseQueueName(queueName)?.kind === "step";
}
function decodeMessage(body, contentType) {
  return contentType.startsWith(CBOR) ? decode(body) : decodeJson(Buffer.from(body).toString("utf8"));
}
var OURS = { "x-world-redis-client": "1" };
function refuse(status, error) {
  return Response.json({ error }, { status, headers: OURS });
}
function refuseStranger(reason) {
  return Response.json({ error: `Not from the service: ${reason}` }, { status: 401, headers: { "www-authenticate": "World-Signature", ...OURS } });
}
function messageOf(error) {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

// src/address/search.ts
var import_node_cluster = __toESM(require("node:cluster"));
var import_node_worker_threads = require("node:worker_threads");

// src/address/ancestors.ts
var import_promises3 = require("node:fs/promises");
var import_node_path2 = require("node:path");

// src/address/deno.ts
var permissions = () => globalThis.Deno?.permissions;
var isGranted = (permission) => {
  const asked = permissions();
  return asked === void 0 || asked.querySync(permission).state === "granted";
};
var mayReadProc = () => ["read", "write", "net", "env", "run", "ffi"].every((name) => isGranted({ name }));
var mayRun = (program) => isGranted({ name: "run", command: program });
var isDeno = () => permissions() !== void 0;

// src/address/proc.ts
var import_promises2 = require("node:fs/promises");
var import_node_os2 = require("node:os");

// src/address/listener.ts
function hostOf(address) {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "");
  return plain === "*" || plain === "0.0.0.0" || plain === "::" ? void 0 : plain;
}
function originOf({ host, port }) {
  if (host === void 0 || host === "127.0.0.1") return `http://localhost:${port}`;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
function portOf(text2) {
  const port = /^\d{1,5}$/.test(text2 ?? "") ? Number(text2) : 0;
  return port >= 1 && port <= 65535 ? port : void 0;
}

// src/address/proc.ts
var MOST_FILES = 4096;
var TABLE_BYTES = 256 * 1024;
var READ_BYTES2 = 16 * 1024;
var LISTENING = "0A";
var proc = (...parts) => ["", "proc", ...parts].join("/");
async function procListeners(pids) {
  if (!mayReadProc()) return void 0;
  const found = await Promise.all(pids.map(ofProcess));
  return found[pids.indexOf(process.pid)] === void 0 ? void 0 : found.flatMap((listeners) => listeners ?? []);
}
async function ofProcess(pid) {
  try {
    const sockets = await socketsOf(pid);
    const tables = await Promise.all([listeningIn(proc(pid, "net", "tcp")), listeningIn(proc(pid, "net", "tcp6")).catch(() => [])]);
    const bySocket = new Map(tables.flat());
    return sockets.flatMap((socket) => {
      const address = bySocket.get(socket);
      return address === void 0 ? [] : [{ ...address, pid }];
    });
  } catch {
    return void 0;
  }
}
async function socketsOf(pid) {
  const descriptors = (await (0, import_promises2.readdir)(proc(pid, "fd"))).map(Number).sort((a, b) => a - b);
  const links = await Promise.all(descriptors.slice(0, MOST_FILES).map((fd) => (0, import_promises2.readlink)(proc(pid, "fd", fd)).catch(() => "")));
  return links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []);
}
async function listeningIn(table) {
  const file = await (0, import_promises2.open)(table);
  try {
    const buffer = Buffer.alloc(READ_BYTES2);
    const found = [];
    for (let rest = "", total = 0; total < TABLE_BYTES; ) {
      const { bytesRead } = await file.read(buffer, 0, READ_BYTES2);
      total += bytesRead;
      const lines = (rest + buffer.toString("latin1", 0, bytesRead)).split("\n");
      rest = bytesRead === 0 ? "" : lines.pop() ?? "";
      const listening = parseTable(lines.join("\n"));
      found.push(...listening);
      if (bytesRead === 0 || listening.length < lines.length - (total === bytesRead ? 1 : 0)) break;
    }
    return found;
  } finally {
    await file.close();
  }
}
function parseTable(text2, order = (0, import_node_os2.endianness)()) {
  return text2.split("\n").flatMap((line) => {
    const [, local = "", , state3, , , , , , inode] = line.trim().split(/\s+/);
    const [address = "", port = ""] = local.split(":");
    if (state3 !== LISTENING || inode === void 0) return [];
    return [[inode, { host: hostOf(readAddress(address, order)), port: Number.parseInt(port, 16) }]];
  });
}
function readAddress(hex2, order) {
  const bytes = Buffer.from(hex2, "hex");
  if (order === "LE") bytes.swap32();
  if (bytes.length === 4) return bytes.join(".");
  if (bytes.subarray(0, 12).equals(MAPPED)) return bytes.subarray(12).join(".");
  const groups = Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(2 * i).toString(16));
  return new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1);
}
var MAPPED = Buffer.from("00000000000000000000ffff", "hex");

// src/address/programs.ts
var import_node_child_process = require("node:child_process");
var TIMEOUT_MS2 = 5e3;
async function outputOf(program, args) {
  if (!mayRun(program)) return void 0;
  return new Promise((resolve) => {
    const child = (0, import_node_child_process.execFile)(program, args, { timeout: TIMEOUT_MS2, windowsHide: true, maxBuffer: 4 * 1024 * 1024 }, (error, stdout) => {
      resolve(error && typeof error.code !== "number" ? void 0 : stdout);
    });
    child.unref();
    child.stdout?.unref();
    child.stderr?.unref();
  });
}

// src/address/ancestors.ts
var MOST_ANCESTORS = 8;
var RUNTIME = /^(node|nodejs|bun|deno|electron)(\.exe)?$/i;
async function ancestors() {
  switch (process.platform) {
    case "linux":
      return mayReadProc() ? linuxAncestors() : [];
    case "win32":
      return [process.ppid];
    default:
      return parsePs(await outputOf("ps", ["-axo", "pid=,ppid=,comm="]) ?? "", process.ppid);
  }
}
async function linuxAncestors() {
  const found = [];
  let pid = process.ppid;
  for (let i = 0; i < MOST_ANCESTORS && pid > 0; i++) {
    try {
      const status = await (0, import_promises3.readFile)(proc(pid, "status"), "utf8");
      if (isRuntime(await (0, import_promises3.readlink)(proc(pid, "exe")).catch(() => ""))) found.push(pid);
      pid = Number(/^PPid:\s+(\d+)/m.exec(status)?.[1] ?? 0);
    } catch {
      break;
    }
  }
  return found;
}
function parsePs(output, parent) {
  const processes = new Map(
    output.split("\n").flatMap((line) => {
      const [, pid, ppid, program] = /^\s*(\d+)\s+(\d+)\s+(.*?)\s*$/.exec(line) ?? [];
      return pid === void 0 ? [] : [[Number(pid), { parent: Number(ppid), program: program ?? "" }]];
    })
  );
  const found = [];
  for (let pid = parent, i = 0; i < MOST_ANCESTORS; i++) {
    const process2 = processes.get(pid);
    if (!process2) break;
    if (isRuntime(process2.program)) found.push(pid);
    pid = process2.parent;
  }
  return found;
}
var isRuntime = (path) => RUNTIME.test((0, import_node_path2.basename)(path)) || path !== "" && path === process.execPath;

// src/address/handles.ts
function threadListeners() {
  const handles = process._getActiveHandles?.() ?? [];
  return handles.flatMap((handle) => {
    if (handle.listening !== true) return [];
    const address = handle.address?.();
    if (typeof address !== "object" || address === null) return [];
    return [{ host: hostOf(address.address), port: address.port, pid: process.pid }];
  });
}

// src/address/lsof.ts
async function lsofListeners(pids) {
  const output = await outputOf("lsof", ["-nP", "-a", "-iTCP", "-sTCP:LISTEN", "-p", pids.join(","), "-Fpn"]);
  return output === void 0 ? void 0 : parseLsof(output);
}
function parseLsof(output) {
  const listeners = [];
  let pid = 0;
  for (const line of output.split("\n")) {
    if (line.startsWith("p")) pid = Number(line.slice(1));
    const [, address, text2] = /^n\[?([^\]]+?)\]?:(\d+)$/.exec(line) ?? [];
    const port = portOf(text2);
    if (address !== void 0 && port !== void 0) listeners.push({ host: hostOf(address), port, pid });
  }
  return listeners;
}

// src/address/netstat.ts
async function netstatListeners(pids) {
  const output = await outputOf("netstat", ["-ano"]);
  return output === void 0 ? void 0 : parseNetstat(output, pids);
}
function parseNetstat(output, pids) {
  return output.split("\n").flatMap((line) => {
    const [protocol, local = "", remote = "", , owner] = line.trim().split(/\s+/);
    const pid = Number(owner);
    if (protocol !== "TCP" || !remote.endsWith(":0") || !pids.includes(pid)) return [];
    const [, address, text2] = /^\[?([^\]%]+)[^\]]*\]?:(\d+)$/.exec(local) ?? [];
    const port = portOf(text2);
    return address === void 0 || port === void 0 ? [] : [{ host: hostOf(address), port, pid }];
  });
}

// src/address/listeners.ts
async function listenersOf(pids) {
  switch (process.platform) {
    case "linux":
      return procListeners(pids);
    case "win32":
      return withThread(await netstatListeners(pids));
    default:
      return withThread(await lsofListeners(pids));
  }
}
function withThread(found) {
  const own = threadListeners();
  if (found === void 0) return own.length > 0 ? own : void 0;
  return [...found, ...own.filter(({ port }) => !found.some((other) => other.port === port))];
}

// src/address/search.ts
var TIMES = {
  patience: 1e4,
  better: 1e3,
  // Where a program of the system has to be started for each look, it waits longer.
  pause: (elapsed) => Math.max(elapsed < 1e4 ? 100 : elapsed < 6e4 ? 1e3 : elapsed < 6e5 ? 5e3 : 3e4, process.platform === "linux" ? 0 : 1e3)
};
var FIRST_RETRY_MS = 250;
var LONGEST_RETRY_MS = 5e3;
var MOST_TARGETS = 32;
var GUESSED_PORT = 3e3;
var DENO_PORT = 8e3;
var AddressSearch = class {
  constructor(processId2, events, times = TIMES) {
    this.processId = processId2;
    this.events = events;
    this.times = times;
  }
  processId;
  events;
  times;
  #targets = /* @__PURE__ */ new Map();
  #began = Date.now();
  #ancestors;
  #timer;
  #ended = false;
  #reported = false;
  /** Whether the ports of this process can be found out. */
  #visible = true;
  /** Looks once, and goes on in the background without keeping the process alive. Returns whether there is any port that may be the app's. */
  async start() {
    await this.#look();
    return this.#targets.size > 0;
  }
  stop() {
    this.#ended = true;
    clearTimeout(this.#timer);
  }
  async #look() {
    this.#ancestors ??= await ancestors().catch(() => []);
    const listeners = await listenersOf([process.pid, ...this.#ancestors]).catch(() => void 0);
    if (this.#ended) return;
    this.#visible = listeners !== void 0;
    this.#update([...this.#ranked(listeners ?? []), ...this.#guesses()]);
    for (const target of this.#targets.values()) {
      if (target.state === "failed" && Date.now() >= target.retryAt) void this.#ask(target);
    }
    this.#decide();
    if (this.#ended) return;
    this.#timer = setTimeout(() => void this.#look(), this.times.pause(Date.now() - this.#began));
    this.#timer.unref();
  }
  /** Adds new targets and removes those that are gone. */
  #update(wanted) {
    const origins = /* @__PURE__ */ new Set();
    for (const [origin, rank, foreign] of wanted) {
      if (origins.has(origin) || origins.size === MOST_TARGETS) continue;
      origins.add(origin);
      const target = this.#targets.get(origin);
      if (target) target.rank = rank;
      else this.#targets.set(origin, { origin, rank, foreign, state: "failed", confirmedAt: 0, failures: 0, retryAt: 0, why: "" });
    }
    for (const origin of this.#targets.keys()) if (!origins.has(origin)) this.#targets.delete(origin);
  }
  #ranked(listeners) {
    const named = portOf(process.env["PORT"]);
    const threads = import_node_worker_threads.isMainThread ? [] : threadListeners().map(({ port }) => port);
    return listeners.map((listener) => {
      const origin = originOf(listener);
      if (listener.pid !== process.pid) return [origin, 0 /* Ancestor */, !(import_node_cluster.default.isWorker && listener.pid === process.ppid)];
      if (threads.includes(listener.port)) return [origin, 3 /* OwnThread */, false];
      return [origin, listener.port === named ? 1 /* OwnNamed */ : 2 /* Own */, false];
    });
  }
  /** Ports that are usual, once this process has had the time to listen on its own, or where its ports cannot be found out. */
  #guesses() {
    if (this.#visible && !this.#isLate()) return [];
    const named = portOf(process.env["PORT"]);
    const usual = isDeno() ? [GUESSED_PORT, DENO_PORT] : [GUESSED_PORT];
    return [
      ...(named === void 0 ? [] : [named]).map((port) => [originOf({ host: void 0, port }), 4 /* GuessNamed */, false]),
      ...usual.map((port) => [originOf({ host: void 0, port }), 5 /* Guess */, this.#visible])
    ];
  }
  async #ask(target) {
    target.state = "asking";
    target.why = "";
    const answered = await this.#firstThatAnswers(target, basePaths()) ?? await this.#atNamedPath(target);
    if (answered === void 0) {
      target.state = "failed";
      target.retryAt = Date.now() + Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** target.failures);
      target.failures++;
    } else {
      target.state = "confirmed";
      target.baseUrl = answered;
      target.confirmedAt = Date.now();
    }
    this.#decide();
  }
  async #firstThatAnswers(target, paths) {
    for (const path of paths) {
      const baseUrl = `${target.origin}${path}`;
      if (target.foreign) {
        if (await reachesProcess(baseUrl, this.processId)) return baseUrl;
        continue;
      }
      const probed = await probeHealth(baseUrl);
      if (probed.ok) return baseUrl;
      target.why ||= probed.why;
    }
    return void 0;
  }
  /** At the base path that the server itself names, which it is asked for once. */
  async #atNamedPath(target) {
    target.named ??= await basePathAt(target.origin) ?? null;
    return target.named === null ? void 0 : this.#firstThatAnswers(target, [target.named]);
  }
  #decide() {
    if (this.#ended) return;
    const targets = [...this.#targets.values()].sort((a, b) => a.rank - b.rank);
    const best = targets.find(({ state: state3 }) => state3 === "confirmed");
    if (best?.baseUrl !== void 0) {
      const better = targets.some(({ rank, state: state3 }) => rank < best.rank && state3 === "asking");
      if (better && Date.now() - best.confirmedAt < this.times.better) return;
      this.stop();
      this.events.found(best.baseUrl);
      return;
    }
    if (this.#reported || !this.#isLate() || targets.some(({ state: state3 }) => state3 === "asking")) return;
    this.#reported = true;
    const port = portOf(process.env["PORT"]) ?? (this.#visible ? void 0 : GUESSED_PORT);
    this.events.missing(this.#whatIsMissing(targets), port === void 0 ? void 0 : `${originOf({ host: void 0, port })}${basePaths()[0]}`);
  }
  #isLate() {
    return Date.now() - this.#began >= this.times.patience;
  }
  #whatIsMissing(targets) {
    const own = targets.filter(({ rank }) => rank === 1 /* OwnNamed */ || rank === 2 /* Own */ || rank === 3 /* OwnThread */);
    if (own.length > 0) return `the workflow routes of this app do not answer where it listens (${own.map(({ why }) => why).join("; ")})`;
    return this.#visible ? "this process does not listen on any port" : "the port of this app cannot be found out";
  }
};

// src/address/serviceWarnings.ts
var MOST_WARNINGS = 5;
var LONGEST_MESSAGE = 500;
function warningsIn(answer) {
  const list2 = isFields(answer) ? answer["warnings"] : void 0;
  if (!Array.isArray(list2)) return [];
  return list2.slice(0, MOST_WARNINGS).flatMap((item) => {
    const { code, message } = isFields(item) ? item : {};
    return typeof code === "string" && typeof message === "string" ? [{ code, message: printable(message) }] : [];
  });
}
function printable(message) {
  return message.slice(0, LONGEST_MESSAGE).replace(/[\u0000-\u001f\u007f-\u009f]+/g, " ");
}
var WarningPrinter = class {
  #shown = /* @__PURE__ */ new Set();
  /** Is called with the warnings of each answer. */
  print(baseUrl, warnings) {
    const current4 = new Map(warnings.map((warning) => [JSON.stringify([warning.code, warning.message]), warning]));
    for (const [key, { message }] of current4) {
      if (!this.#shown.has(key)) process.stderr.write(`[world-redis] WARNING: ${message}
`);
    }
    if (this.#shown.size > 0 && current4.size === 0) process.stderr.write(`[world-redis] ${baseUrl} is reached by the service
`);
    this.#shown = new Set(current4.keys());
  }
};

// src/transport/call.ts
var import_promises4 = require("node:timers/promises");

// src/wire/wireError.ts
function errorFromWire(wire, refusal2) {
  const message = text(wire?.message) ?? unnamedMessage(refusal2);
  const retryAfter = number(wire?.retryAfter) ?? refusal2.retryAfter;
  switch (text(wire?.name) ?? nameByStatus(refusal2.status)) {
    case "EntityConflictError":
      return new EntityConflictError(message);
    case "RunExpiredError":
      return new RunExpiredError(message);
    case "TooEarlyError":
      return new TooEarlyError(message, { retryAfter });
    case "ThrottleError":
      return new ThrottleError(message, { retryAfter, code: text(wire?.code) });
    case "PreconditionFailedError":
      return new PreconditionFailedError(message, { retryAfter });
    case "WorkflowRunNotFoundError":
      return new WorkflowRunNotFoundError(text(wire?.runId) ?? "");
    case "HookNotFoundError":
      return new HookNotFoundError(text(wire?.token) ?? "");
    case "RunNotSupportedError":
      return new RunNotSupportedError(number(wire?.runSpecVersion) ?? 0, number(wire?.worldSpecVersion) ?? 0);
    case "StreamExpiredError": {
      const expiredAt = number(wire?.expiredAt);
      const since = expiredAt === void 0 ? void 0 : new Date(expiredAt);
      return new StreamExpiredError(message, text(wire?.runId) ?? "", text(wire?.stream) ?? "", since);
    }
    case "AttributeValidationError":
      return new AttributeValidationError(message);
    default:
      return new WorkflowWorldError(message, {
        status: number(wire?.status) ?? refusal2.status,
        // A 413 is always about the request's size, even from a proxy: a retry would be refused, too.
        code: text(wire?.code) ?? (refusal2.status === 413 ? "too_large" : void 0),
        url: refusal2.url,
        retryAfter
      });
  }
}
function nameByStatus(status) {
  switch (status) {
    case 409:
      return "EntityConflictError";
    case 410:
      return "RunExpiredError";
    case 412:
      return "PreconditionFailedError";
    case 425:
      return "TooEarlyError";
    case 429:
      return "ThrottleError";
    default:
      return void 0;
  }
}
function unnamedMessage({ status, url, bytes = 0 }) {
  if (status === 413) {
    return `${url} answered 413, and not by world-redis: something between the app and the service refuses a body of ${bytes} bytes. Raise its limit (nginx: client_max_body_size) to that of the service (WORKFLOW_WORLD_MAX_BODY)`;
  }
  const hint = status === 404 ? " Is WORKFLOW_WORLD_URL the address of world-redis?" : "";
  return `${url} answered ${status} without a reason.${hint}`;
}
function text(value) {
  return typeof value === "string" && value !== "" ? value : void 0;
}
function number(value) {
  return typeof value === "number" && Number.isFinite(value) ? value : void 0;
}

// src/transport/connection.ts
var import_node_events = require("node:events");

// src/transport/bundles.ts
var POSTS = /^\/v1\/(events|runs\/[^/?]+\/events|queue)$/;
var GETS = /^\/v1\/(runs\/lost|runs\/[^/?]+|runs\/[^/?]+\/steps\/[^/?]+)(\?.*)?$/;
var MOST_CALLS = 32;
var LARGEST_BODY = 32 * 1024;
var NOT_THIS_WAY = /* @__PURE__ */ new Set([400, 404, 405, 413, 415]);
var ASK_AGAIN_AFTER_MS = 6e4;
var Bundles = class {
  #exchange;
  #sockets;
  #path;
  #basePath;
  #waiting = [];
  #aloneUntil;
  /** `basePath` is that of the service's URL, without a trailing slash. Without `together`, each call is a plain request. */
  constructor(exchange, sockets, basePath, together = true) {
    this.#aloneUntil = together ? 0 : Number.POSITIVE_INFINITY;
    this.#exchange = exchange;
    this.#sockets = sockets;
    this.#basePath = basePath;
    this.#path = `${basePath}/v1/calls`;
  }
  /** `then` is a call to make in the same request once the first has succeeded; it is left out if it cannot or need not be sent with it. */
  request(outgoing2, then) {
    if (!this.#fits(outgoing2)) return this.#exchange.request(outgoing2);
    const fitting = then && this.#fits(then) ? then : void 0;
    return new Promise((resolve, reject) => {
      if (this.#waiting.push({ outgoing: outgoing2, then: fitting, resolve, reject }) === 1) this.#soon(outgoing2);
    });
  }
  /**
   * Sends once the current code has run. A socket delivers the answers of a bundle together, so the calls that follow
   * from them are made by the end of the callback. Separate requests deliver them one by one, so calls wait for the
   * others of the turn.
   */
  #soon({ headers }) {
    const flush = () => this.#flush();
    if (this.#sockets?.isOpen(headers["authorization"])) process.nextTick(flush);
    else setImmediate(flush);
  }
  #fits({ method, path, headers, body, signal }) {
    if (signal !== void 0 || !path.startsWith(this.#basePath)) return false;
    const tail = path.slice(this.#basePath.length);
    if (method === "GET") return GETS.test(tail) && Date.now() >= this.#aloneUntil;
    if (body === void 0 || body.byteLength > LARGEST_BODY || headers["content-type"] !== CBOR) return false;
    return POSTS.test(tail) && Date.now() >= this.#aloneUntil;
  }
  #flush() {
    const ofToken = /* @__PURE__ */ new Map();
    for (const one of this.#waiting) {
      const { authorization } = one.outgoing.headers;
      const same = ofToken.get(authorization);
      if (same) same.push(one);
      else ofToken.set(authorization, [one]);
    }
    this.#waiting = [];
    for (const same of ofToken.values()) {
      leaveOutShared(same);
      for (const some of portions(same)) {
        void this.#together(some);
      }
    }
  }
  #alone({ outgoing: outgoing2, resolve, reject }) {
    this.#exchange.request(outgoing2).then(resolve, reject);
  }
  async #together(calls) {
    const [first] = calls;
    const { headers, timeoutMs } = first.outgoing;
    const socket = this.#sockets?.of(headers["authorization"]);
    if (!socket && calls.length === 1 && !first.then) return this.#alone(first);
    const partOf = ({ path, headers: { "idempotency-key": key }, body: body2 }) => ({ path: path.slice(this.#basePath.length), key, body: body2 });
    const body = encode({
      calls: calls.map(({ outgoing: outgoing2, then }) => ({ ...partOf(outgoing2), ...then && { then: partOf(then) } }))
    });
    try {
      const whole = await (socket ? socket.request(body, timeoutMs) : this.#post(body, headers, timeoutMs));
      if (NOT_THIS_WAY.has(whole.status)) {
        if (whole.status !== 413) this.#aloneUntil = Date.now() + ASK_AGAIN_AFTER_MS;
        for (const one of calls) this.#alone(one);
        return;
      }
      const answers = whole.status === 200 ? answersOf(whole, calls.length) : void 0;
      const instead = whole.status === 200 ? { ...whole, status: 502, body: new Uint8Array() } : whole;
      calls.forEach((one, i) => one.resolve(answers?.[i] ?? instead));
    } catch (error) {
      for (const one of calls) one.reject(error);
    }
  }
  #post(body, { "idempotency-key": _key, ...own }, timeoutMs) {
    const headers = { ...own, "content-type": CBOR };
    return this.#exchange.request({ method: "POST", path: this.#path, headers, body, timeoutMs, signal: void 0 });
  }
};
function leaveOutShared(calls) {
  const first = /* @__PURE__ */ new Map();
  for (const one of calls) {
    if (!one.then) continue;
    const other = first.get(one.outgoing.path);
    if (other) one.then = other.then = void 0;
    else first.set(one.outgoing.path, one);
  }
}
function portions(calls) {
  const parts = [];
  let room = 0;
  for (const one of calls) {
    const size = one.then ? 2 : 1;
    if (size > room) {
      parts.push([]);
      room = MOST_CALLS;
    }
    parts.at(-1)?.push(one);
    room -= size;
  }
  return parts;
}
function answersOf({ body }, count2) {
  let answers;
  try {
    answers = decodeEnvelope(body)?.answers;
  } catch {
  }
  if (!Array.isArray(answers) || answers.length !== count2) return void 0;
  return answers.map((answer) => {
    const { then } = answer ?? {};
    return { ...incomingOf2(answer), ...then && { then: incomingOf2(then) } };
  });
}
function incomingOf2(answer) {
  const { status, body = new Uint8Array(), retryAfter } = answer ?? {};
  if (!Number.isInteger(status) || !(body instanceof Uint8Array)) return { status: 502, headers: {}, body: new Uint8Array() };
  return {
    status,
    headers: { "content-type": CBOR, ...typeof retryAfter === "string" && { "retry-after": retryAfter } },
    body
  };
}

// src/transport/callSocket.ts
var PROTOCOL = "world-redis.calls.1";
var BUNDLES_BEFORE = 8;
var OPEN_TIMEOUT_MS = 5e3;
var FAILED_MS = 1e3;
var REFUSED_MS = 6e4;
var LIFE_MS = 10 * 6e4;
var RETIRE = "retire";
var ID_BYTES = 4;
var HEADER_BYTES = ID_BYTES + 2;
function loadSockets() {
  return require_ws();
}
var CallSockets = class {
  #url;
  #ofToken = /* @__PURE__ */ new Map();
  /** `url` is that of `/v1/calls`, with http or https. */
  constructor(url) {
    this.#url = url.replace(/^http/, "ws");
  }
  /** The open socket of a token. If there is none, it returns undefined, and the socket is opened after several calls. */
  of(authorization) {
    let socket = this.#ofToken.get(authorization);
    if (!socket) this.#ofToken.set(authorization, socket = new CallSocket(this.#url, authorization));
    return socket.ready();
  }
  /** Whether {@link of} would find one. */
  isOpen(authorization) {
    return this.#ofToken.get(authorization)?.usable ?? false;
  }
  /** Ends all sockets. Sockets with calls in progress end once they are answered, or when the grace is over. */
  async close(graceMs) {
    await Promise.all([...this.#ofToken.values()].map((socket) => socket.close(graceMs)));
  }
};
var CallSocket = class {
  #url;
  #headers;
  #line;
  #asked = 0;
  #opening;
  #notBefore = 0;
  #closed = false;
  constructor(url, authorization) {
    this.#url = url;
    this.#headers = authorization === void 0 ? {} : { authorization };
  }
  get usable() {
    return this.#line?.usable ?? false;
  }
  /** The open line. If there is none, one is opened for later calls. */
  ready() {
    if (this.#line?.usable) return this.#line;
    if (++this.#asked > BUNDLES_BEFORE && !this.#opening && !this.#closed && Date.now() >= this.#notBefore) this.#open();
    return void 0;
  }
  #open() {
    const { WebSocket } = loadSockets();
    const socket = new WebSocket(this.#url, [PROTOCOL], {
      headers: this.#headers,
      handshakeTimeout: OPEN_TIMEOUT_MS,
      perMessageDeflate: false,
      maxPayload: 0,
      // The process may end without waiting for it.
      finishRequest: (request2) => {
        request2.on("socket", (under2) => under2.unref());
        request2.end();
      }
    });
    this.#opening = socket;
    const failed = (waitMs) => {
      this.#opening = void 0;
      this.#notBefore = Date.now() + waitMs;
    };
    let under;
    socket.on("upgrade", (answer) => under = answer.socket);
    socket.on("unexpected-response", (request2, answer) => {
      answer.resume();
      request2.destroy();
      failed(answer.statusCode === 503 ? FAILED_MS : REFUSED_MS);
    });
    socket.on("open", () => {
      if (this.#closed) return socket.terminate();
      this.#opening = void 0;
      this.#line = new Line(socket, under, () => failed(REFUSED_MS));
    });
    socket.on("error", () => void 0);
    socket.on("close", () => {
      if (this.#opening === socket) failed(FAILED_MS);
    });
  }
  async close(graceMs) {
    this.#closed = true;
    this.#opening?.terminate();
    await this.#line?.close(graceMs);
  }
};
var Line = class {
  #socket;
  #under;
  #silent;
  #until = Date.now() + LIFE_MS * (0.8 + 0.2 * Math.random());
  #waiting = /* @__PURE__ */ new Map();
  #count = 0;
  #retired = false;
  /** `silent` is called when the socket is given up because an answer was late or invalid. */
  constructor(socket, under, silent) {
    this.#socket = socket;
    this.#under = under;
    this.#silent = silent;
    socket.on("message", (data, binary) => {
      const bytes = data;
      if (binary) this.#answered(bytes);
      else if (bytes.toString() === RETIRE) this.retire();
    });
    socket.on("close", () => this.#end(withCode("ECONNRESET", "the connection ended")));
  }
  /** Whether it accepts calls. */
  get usable() {
    if (!this.#retired && Date.now() > this.#until) this.retire();
    return !this.#retired && this.#socket.readyState === this.#socket.OPEN;
  }
  /** Sends the body of a `POST /v1/calls` and returns its answer. It is rejected if there is none, for whatever reason. */
  request(body, timeoutMs) {
    const id = this.#count = this.#count + 1 >>> 0;
    const message = Buffer.allocUnsafe(ID_BYTES + body.byteLength);
    message.writeUInt32BE(id, 0);
    message.set(body, ID_BYTES);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#silent();
        this.#end(withCode("ETIMEDOUT", "no answer"));
      }, timeoutMs);
      if (this.#waiting.size === 0) this.#under.ref();
      this.#waiting.set(id, { resolve, reject, timer });
      this.#socket.send(message);
    });
  }
  #answered(bytes) {
    if (bytes.byteLength < HEADER_BYTES) {
      this.#silent();
      this.#end(withCode("ECONNRESET", `a message of ${bytes.byteLength} bytes is not an answer`));
      return;
    }
    const id = bytes.readUInt32BE(0);
    const one = this.#waiting.get(id);
    if (!one) return;
    this.#waiting.delete(id);
    clearTimeout(one.timer);
    one.resolve({ status: bytes.readUInt16BE(ID_BYTES), headers: { "content-type": CBOR }, body: bytes.subarray(HEADER_BYTES) });
    this.#rest();
  }
  #rest() {
    if (this.#waiting.size > 0) return;
    this.#under.unref();
    if (this.#retired) this.#socket.close(1e3);
  }
  /** Accepts no more calls, and ends when its calls are answered. */
  retire() {
    this.#retired = true;
    this.#rest();
  }
  /** The same, but it ends when the grace is over at the latest. */
  async close(graceMs) {
    const ended = new Promise((resolve) => this.#socket.once("close", resolve));
    this.retire();
    if (this.#socket.readyState === this.#socket.CLOSED) return;
    const timer = setTimeout(() => this.#socket.terminate(), graceMs);
    await ended;
    clearTimeout(timer);
  }
  #end(error) {
    this.#retired = true;
    for (const { reject, timer } of this.#waiting.values()) {
      clearTimeout(timer);
      reject(error);
    }
    this.#waiting.clear();
    this.#socket.terminate();
  }
};
function withCode(code, message) {
  return Object.assign(new Error(message), { code });
}

// src/transport/exchange.ts
var CONNECT_TIMEOUT_MS = 5e3;
var IDLE_MS = 3e4;
var Exchange = class {
  #origin;
  #agent;
  #http;
  #open = 0;
  #idle;
  /** `connections` is their largest number; further requests wait for a free one. */
  constructor(origin, connections2) {
    this.#origin = new URL(origin);
    const secure = this.#origin.protocol === "https:";
    this.#http = secure ? require("node:https") : require("node:http");
    const options = { keepAlive: true, maxSockets: connections2, maxFreeSockets: 64, timeout: IDLE_MS, scheduling: "lifo" };
    this.#agent = new this.#http.Agent(options);
  }
  /** Makes a request. It is rejected if there is no complete answer, for whatever reason. */
  async request(outgoing2) {
    this.#open++;
    try {
      const { body, ...answer } = await this.open(outgoing2);
      return { ...answer, body: await readAll2(body) };
    } finally {
      if (--this.#open === 0) this.#idle?.();
    }
  }
  /** Makes a request and returns as soon as its answer begins. */
  open({ method, path, headers, body, timeoutMs, signal }) {
    return new Promise((resolve, reject) => {
      const request2 = this.#http.request({
        agent: this.#agent,
        protocol: this.#origin.protocol,
        hostname: this.#origin.hostname.replace(/^\[|\]$/g, ""),
        // an IPv6 address has brackets only in a URL
        port: this.#origin.port,
        method,
        path,
        headers: body === void 0 ? headers : { ...headers, "content-length": String(body.byteLength) },
        timeout: timeoutMs,
        ...signal && { signal }
      });
      let answer;
      request2.on("response", (body2) => {
        answer = body2;
        resolve({ status: body2.statusCode ?? 0, headers: body2.headers, body: body2 });
      });
      request2.on("timeout", () => (answer ?? request2).destroy(withCode2("ETIMEDOUT", "no answer")));
      request2.on("error", reject);
      request2.on("socket", (socket) => {
        if (!socket.connecting) return;
        const timer = setTimeout(() => request2.destroy(withCode2("ECONNTIMEOUT", "connecting takes too long")), CONNECT_TIMEOUT_MS);
        const stop = () => clearTimeout(timer);
        socket.once("connect", stop).once("close", stop);
      });
      request2.end(body);
    });
  }
  /** Ends every connection; those in use when they are done, or when the grace is over. */
  async close(graceMs) {
    if (this.#open > 0) {
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, graceMs);
        this.#idle = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#agent.destroy();
  }
};
function readAll2(body) {
  return new Promise((resolve, reject) => {
    const parts = [];
    body.on("data", (part) => parts.push(part));
    body.on("end", () => resolve(joined(parts)));
    body.on("error", reject);
  });
}
function joined(parts) {
  let size = 0;
  for (const part of parts) size += part.byteLength;
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole;
}
function withCode2(code, message) {
  return Object.assign(new Error(message), { code });
}

// src/transport/connection.ts
var CALL_CONNECTIONS = 64;
var CLOSE_GRACE_MS = 2e3;
var connections = /* @__PURE__ */ new Map();
function connectionTo(url) {
  const existing = connections.get(url);
  if (existing) return existing;
  const { origin, basePath } = parseServiceUrl(url);
  const closing = new AbortController();
  (0, import_node_events.setMaxListeners)(0, closing.signal);
  const calls = new Exchange(origin, CALL_CONNECTIONS);
  const fast = readFastPaths();
  const sockets = fast.has("socket") && fast.has("bundles") ? new CallSockets(`${origin}${basePath}/v1/calls`) : void 0;
  const connection = {
    basePath,
    calls,
    sockets,
    bundles: new Bundles(calls, sockets, basePath, fast.has("bundles")),
    waits: new Exchange(origin, Number.POSITIVE_INFINITY),
    reads: new Exchange(origin, Number.POSITIVE_INFINITY),
    closing
  };
  connections.set(url, connection);
  return connection;
}
async function closeConnection(url) {
  const connection = connections.get(url);
  if (!connection) return;
  connections.delete(url);
  connection.closing.abort();
  const { calls, sockets, waits, reads } = connection;
  await new Promise((resolve) => setImmediate(resolve));
  await Promise.all([reads.close(0), waits.close(0), calls.close(CLOSE_GRACE_MS), sockets?.close(CLOSE_GRACE_MS)]);
}
function parseServiceUrl(url) {
  const parsed = URL.canParse(url) ? new URL(url) : void 0;
  if (!parsed || parsed.protocol !== "http:" && parsed.protocol !== "https:") {
    throw new WorkflowWorldError(`WORKFLOW_WORLD_URL is "${url}", which is not an http or https URL such as http://127.0.0.1:8787`, { code: "INVALID_CONFIG" });
  }
  return { origin: parsed.origin, basePath: parsed.pathname.replace(/\/+$/, "") };
}

// src/transport/requestId.ts
var import_node_crypto4 = require("node:crypto");
var prefix;
var count = 0;
var millis = 0;
var millisText = "";
function newRequestId() {
  prefix ??= (0, import_node_crypto4.randomBytes)(15).toString("base64url");
  const now = Date.now();
  if (now !== millis) {
    millis = now;
    millisText = now.toString(36);
  }
  return `${prefix}-${(count++).toString(36)}-${millisText}`;
}

// src/transport/transportError.ts
var TIMEOUTS = /* @__PURE__ */ new Set(["ETIMEDOUT"]);
var NOBODY_LISTENS = /* @__PURE__ */ new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ECONNTIMEOUT"]);
function transportError(cause, url) {
  if (cause instanceof WorkflowWorldError) return cause;
  const code = causeCode(cause);
  if (TIMEOUTS.has(code)) {
    return new WorkflowWorldError(`${url} did not answer in time`, { code: "TIMEOUT", url, cause });
  }
  const reason = cause instanceof Error && cause.message !== "" ? cause.message : code || String(cause);
  const hint = NOBODY_LISTENS.has(code) ? " Is world-redis running, and is WORKFLOW_WORLD_URL its address?" : "";
  return new WorkflowWorldError(`${url} could not be reached: ${reason}.${hint}`, { code: "TRANSPORT", url, cause });
}
function causeCode(cause) {
  const inner = cause instanceof AggregateError && cause.errors.length > 0 ? cause.errors[0] : cause;
  const code = inner?.code;
  return typeof code === "string" ? code : "";
}

// src/transport/call.ts
var FIRST_PAUSE_MS = 50;
var LONGEST_PAUSE_MS = 1e3;
var LONGEST_LATE_PAUSE_MS = 5e3;
var TRY_AGAIN = /* @__PURE__ */ new Set([502, 503, 504]);
async function call(config, request2) {
  const headers = requestHeaders(config, request2);
  const thenHeaders = request2.then && requestHeaders(config, request2.then.call);
  const { patience } = request2;
  const began = Date.now();
  const deadline = began + (patience?.forMs ?? config.retryForMs);
  const { signal } = connectionTo(config.url).closing;
  let alone = false;
  for (let attempt = 0; ; attempt++) {
    const hold = request2.beforeTry?.();
    if (hold) await hold;
    let answer;
    try {
      answer = await (alone ? sendAlone(config, request2, headers) : send2(config, request2, headers, thenHeaders));
    } catch (cause) {
      answer = unanswered(config, request2, cause);
    }
    const result = "error" in answer ? answer : resultOf(config, request2, answer);
    if ("value" in result) return result.value;
    if (!result.again) throw result.error;
    const elapsed = Date.now() - began;
    const over = isOverBudget(result.error);
    if (over && !alone) result.waitMs = 0;
    alone ||= over;
    const late = deadline === Number.POSITIVE_INFINITY && elapsed > config.streamRetryForMs;
    const pause = Math.max(late ? Math.min(LONGEST_LATE_PAUSE_MS, elapsed / 4) : pauseBefore(attempt), result.waitMs);
    const until = over ? Math.max(deadline, began + config.timeoutMs) : deadline;
    if (!signal.aborted && began + elapsed + pause <= until) {
      patience?.failed();
      await pauseFor(pause, signal, !late);
      if (!signal.aborted) continue;
    }
    patience?.gaveUp(result.error);
    throw result.error;
  }
}
async function callOnce(config, request2) {
  const headers = requestHeaders(config, request2);
  const answer = await send2(config, request2, headers).catch((cause) => unanswered(config, request2, cause));
  const result = "error" in answer ? answer : resultOf(config, request2, answer);
  if ("value" in result) return result.value;
  throw result.error;
}
function pauseBefore(attempt) {
  const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempt);
  return pause * (0.75 + Math.random() * 0.5);
}
async function pauseFor(ms, signal, ref = true) {
  await (0, import_promises4.setTimeout)(ms, void 0, { signal, ref }).catch(() => void 0);
}
function send2(config, request2, headers, thenHeaders) {
  const { bundles, waits, basePath } = connectionTo(config.url);
  const first = outgoing(basePath, config, request2, headers);
  if (request2.holdMs !== void 0) return waits.request(first);
  return bundles.request(first, request2.then && thenHeaders && outgoing(basePath, config, request2.then.call, thenHeaders));
}
function sendAlone(config, request2, headers) {
  const { calls, waits, basePath } = connectionTo(config.url);
  return (request2.holdMs === void 0 ? calls : waits).request(outgoing(basePath, config, request2, headers));
}
function outgoing(basePath, config, { method, path, body, holdMs = 0, signal, patience }, headers) {
  const timeoutMs = (patience?.timeoutMs ?? config.timeoutMs) + holdMs;
  return { method, path: basePath + path, headers, body, timeoutMs, signal };
}
function unanswered(config, { path, signal }, cause) {
  return { error: transportError(cause, serviceUrl(config, path)), again: !signal?.aborted, waitMs: 0 };
}
function resultOf(config, { path, then, body, patience }, answer) {
  const bytes = answer.body;
  const contentType = String(answer.headers["content-type"] ?? "");
  const { status } = answer;
  if (succeeded(answer)) {
    const value = decodeBody(bytes, contentType);
    if (isFields(value)) {
      const thenValue = answer.then && succeeded(answer.then) ? decodeBody(answer.then.body, CBOR) : void 0;
      if (thenValue !== void 0) then?.answered(thenValue);
      return { value };
    }
    const url = serviceUrl(config, path);
    const what = contentType || "no content type";
    const message = `${url} answered ${status} with something that is not an answer of world-redis (${what})`;
    return { error: new WorkflowWorldError(message, { status: 502, url }), again: patience !== void 0, waitMs: 0 };
  }
  const retryAfter = retryAfterSeconds(answer.headers["retry-after"]);
  const wire = decodeBody(bytes, contentType);
  const error = errorFromWire(wire?.error, { status, url: serviceUrl(config, path), retryAfter, bytes: body?.byteLength });
  if (isOverBudget(error)) {
    const seconds = retryAfter ?? error.retryAfter ?? 1;
    return { error, again: true, waitMs: spread(seconds * 1e3) };
  }
  const again = TRY_AGAIN.has(status) || patience !== void 0 && (status >= 500 || status === 429);
  return { error, again, waitMs: (retryAfter ?? 0) * 1e3 };
}
function succeeded({ status }) {
  return status >= 200 && status < 300;
}
function commonHeaders(config) {
  return config.token === void 0 ? {} : { authorization: bearer(config.token) };
}
function bearer(token) {
  return `Bearer ${token}`;
}
function serviceUrl(config, path) {
  return config.url.replace(/\/+$/, "") + path;
}
function requestHeaders(config, request2) {
  const headers = { ...request2.headers, accept: CBOR };
  if (config.token !== void 0) headers["authorization"] = bearer(config.token);
  if (request2.method === "POST") headers["idempotency-key"] = newRequestId();
  if (request2.body !== void 0) headers["content-type"] = request2.contentType ?? CBOR;
  return headers;
}
function decodeBody(bytes, contentType) {
  try {
    if (contentType.startsWith(CBOR)) return decode(bytes);
    if (contentType.startsWith("application/json")) return decodeJson(Buffer.from(bytes).toString("utf8"));
  } catch {
  }
  return void 0;
}
function retryAfterSeconds(header) {
  if (header === void 0) return void 0;
  const seconds = Number(header);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : void 0;
}

// src/delivery/registration.ts
var REFRESH_MS = 3e4;
var FIRST_REFRESH_MS = 5e3;
var LEASE_SECONDS = 90;
var GOODBYE_MS = 1e3;
var START_WAIT_MS = 2e3;
var SEARCH_WAIT_MS = 300;
var started = /* @__PURE__ */ new Map();
async function startRegistering(readConfig2) {
  const config = readConfig2();
  const leased = lease();
  const appAt = (baseUrl) => ({ ...appOf(config, baseUrl), ...leased });
  const known2 = config.baseUrl === void 0 ? void 0 : appAt(config.baseUrl);
  stopRegistering(config.url);
  const state3 = {};
  started.set(config.url, state3);
  await new Promise((resolve) => {
    const giveUpWaiting = setTimeout(resolve, START_WAIT_MS);
    const stopWaiting = () => {
      clearTimeout(giveUpWaiting);
      resolve();
    };
    const onSuccess = () => {
      if (connectionTo(config.url).sockets) loadSockets();
      stopWaiting();
    };
    if (known2) register(readConfig2, state3, known2, onSuccess);
    else void registerWhenFound(readConfig2, state3, appAt, onSuccess).then((any) => any ? setTimeout(stopWaiting, SEARCH_WAIT_MS) : stopWaiting());
  });
}
async function registerWhenFound(readConfig2, state3, appAt, onSuccess) {
  let reported = false;
  const registerAt = (baseUrl) => {
    register(readConfig2, state3, appAt(baseUrl), onSuccess, () => {
      if (!state3.search) void registerWhenFound(readConfig2, state3, appAt, onSuccess);
    });
  };
  state3.search = new AddressSearch(processId(), {
    found: (baseUrl) => {
      delete state3.search;
      if (reported) process.stderr.write(`[world-redis] this app answers at ${baseUrl}, which is registered now
`);
      registerAt(baseUrl);
    },
    missing: (what, guess) => {
      if (state3.registration) return;
      reported = true;
      const then = guess === void 0 ? "The app is registered as soon as it answers" : `${guess} is registered until the app answers elsewhere`;
      process.stderr.write(
        `[world-redis] WARNING: ${what}, so the service cannot deliver to it. ${then}. Set WORKFLOW_BASE_URL to the address at which the service reaches the app, with its base path.
`
      );
      if (guess !== void 0) registerAt(guess);
    }
  });
  return state3.search.start();
}
function register(readConfig2, state3, app, onSuccess, onTrouble) {
  let before = state3.registration;
  if (before?.app.baseUrl === app.baseUrl) return;
  if (before) end(before);
  const registration = { app, timer: void 0, ended: false };
  state3.registration = registration;
  const warnings = new WarningPrinter();
  keepRegistered(readConfig2, registration, (answer) => {
    const current4 = warningsIn(answer);
    warnings.print(app.baseUrl, current4);
    if (before) void sayGoodbye(readConfig2(), before.app);
    before = void 0;
    onSuccess();
    if (current4.some(({ code }) => MISSED.has(code))) onTrouble?.();
  });
}
var MISSED = /* @__PURE__ */ new Set(["no_answer", "other_app"]);
function end(registration) {
  registration.ended = true;
  clearTimeout(registration.timer);
}
function stopRegistering(url) {
  const state3 = started.get(url);
  if (!state3) return void 0;
  started.delete(url);
  state3.search?.stop();
  if (state3.registration) end(state3.registration);
  return state3.registration?.app;
}
async function unregister(config) {
  const app = stopRegistering(config.url);
  if (app) await sayGoodbye(config, app);
}
async function sayGoodbye(config, app) {
  const signal = AbortSignal.timeout(GOODBYE_MS);
  await callOnce(config, { method: "POST", path: "/v1/apps/unregister", body: encode(app), signal }).catch(() => void 0);
}
function appForQueue(config) {
  const registered = started.get(config.url)?.registration?.app;
  if (config.baseUrl === void 0) return registered;
  const app = appOf(config, config.baseUrl);
  return registered?.baseUrl === app.baseUrl && registered.deploymentId === app.deploymentId ? registered : app;
}
function lease() {
  const setting = process.env["WORKFLOW_WORLD_APP_LEASE_SECONDS"];
  const seconds = setting === void 0 || setting === "" ? LEASE_SECONDS : Number(setting);
  if (!Number.isInteger(seconds) || seconds < 0) {
    throw new WorkflowWorldError(`WORKFLOW_WORLD_APP_LEASE_SECONDS is "${setting}", which is not a whole number of seconds`, { code: "INVALID_CONFIG" });
  }
  return seconds === 0 ? {} : { leaseSeconds: seconds };
}
var handled = /* @__PURE__ */ new Set();
function noteHandler(prefix2) {
  const name = parseQueueName(prefix2);
  if (name?.kind === "workflow") handled.add(name.namespace);
}
function servedNamespace(config) {
  const namespace = handled.size === 1 ? [...handled][0] : config.namespace;
  return namespace === void 0 ? {} : { namespace };
}
function keepRegistered(readConfig2, registration, onAnswer) {
  let failures = 0;
  let refresh = FIRST_REFRESH_MS;
  const attempt = async () => {
    let wait = refresh;
    try {
      const config = readConfig2();
      registration.app = { ...registration.app, ...servedNamespace(config) };
      const answer = await callOnce(config, { method: "POST", path: "/v1/apps", body: encode({ ...registration.app, ...identity() }) });
      failures = 0;
      refresh = REFRESH_MS;
      if (!registration.ended) onAnswer(answer);
    } catch (error) {
      if (failures === 0 && !registration.ended) {
        process.stderr.write(`[world-redis] ${registration.app.baseUrl} could not be registered: ${messageOf2(error)}
`);
      }
      if (!isRefusal(error)) wait = pauseBefore(failures);
      failures++;
    }
    if (registration.ended) return;
    registration.timer = setTimeout(() => void attempt(), wait);
    registration.timer.unref();
  };
  void attempt();
}
function appOf(config, baseUrl) {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : void 0;
  if (!url || url.protocol !== "http:" && url.protocol !== "https:") {
    throw new WorkflowWorldError(`WORKFLOW_BASE_URL is "${baseUrl}", which is not an http or https URL such as http://localhost:3000`, { code: "INVALID_CONFIG" });
  }
  noteDeployment(config.deploymentId);
  const app = { baseUrl: baseUrl.replace(/\/+$/, ""), deploymentId: config.deploymentId, sdk: detectSdk() };
  const attach = preloadable(config);
  return { ...app, ...servedNamespace(config), ...attach.length > 0 && { attach } };
}
function isRefusal(error) {
  const status = error?.status;
  return typeof status === "number" && status >= 400 && status < 500;
}
function messageOf2(error) {
  return error instanceof Error ? error.message : String(error);
}

// src/sdk/legacyError.ts
var WorkflowAPIError = class extends WorkflowError {
  status;
  code;
  url;
  retryAfter;
  constructor(cause, details) {
    super(cause.message, { cause });
    this.name = "WorkflowAPIError";
    this.status = details.status;
    this.code = details.code;
    this.url = details.url;
    this.retryAfter = details.retryAfter;
  }
};
var STATUS = {
  EntityConflictError: 409,
  RunExpiredError: 410,
  TooEarlyError: 425,
  ThrottleError: 429,
  WorkflowRunNotFoundError: 404,
  HookNotFoundError: 404,
  RunNotSupportedError: 422
};
function asApiError(error) {
  if (!(error instanceof WorkflowError)) return error;
  const details = error;
  const status = details.status ?? STATUS[error.name];
  return new WorkflowAPIError(error, status === void 0 ? details : { ...details, status });
}

// src/wire/path.ts
function pathSegment(text2) {
  if (typeof text2 !== "string" || text2 === "") {
    throw new WorkflowWorldError("an id or a name is missing", { status: 400, code: "invalid" });
  }
  return percentEncode(text2);
}
function withQuery(path, query) {
  const pairs = [];
  for (const [key, value] of Object.entries(query)) {
    if (value === void 0) continue;
    const values = Array.isArray(value) ? value : [value];
    for (const one of values.length > 0 ? values : [""]) pairs.push(`${key}=${percentEncode(String(one))}`);
  }
  return pairs.length > 0 ? `${path}?${pairs.join("&")}` : path;
}
function percentEncode(text2) {
  return encodeURIComponent(wellFormed(text2));
}

// src/world/legacy.ts
function createLegacyCalls(config) {
  const post = async (path, body = {}) => {
    try {
      return await call(config(), { method: "POST", path: `/v1/legacy${path}`, body: encode(body) });
    } catch (error) {
      throw asApiError(error);
    }
  };
  const run = (id) => `/runs/${pathSegment(id)}`;
  const postRun = async (path, body) => reviveEntity(await post(path, body));
  return {
    runs: {
      create: ({ deploymentId, workflowName, input, executionContext }) => postRun("/runs", { deploymentId, workflowName, input, executionContext }),
      update: (id, { status, output, error, executionContext }) => postRun(run(id), { status, output, error, executionContext }),
      cancel: (id, params) => postRun(`${run(id)}/cancel`, { resolveData: params?.resolveData }),
      pause: (id, params) => postRun(`${run(id)}/pause`, { resolveData: params?.resolveData }),
      resume: (id, params) => postRun(`${run(id)}/resume`, { resolveData: params?.resolveData })
    },
    steps: {
      create: async (runId, { stepId, stepName, input }) => reviveEntity(await post(`${run(runId)}/steps`, { stepId, stepName, input })),
      update: async (runId, stepId, { status, attempt, output, error, retryAfter }) => reviveEntity(
        await post(`${run(runId)}/steps/${pathSegment(stepId)}`, {
          status,
          attempt,
          output,
          error,
          retryAfter: toMillis(retryAfter)
        })
      )
    },
    createEvent: async (runId, { eventType, correlationId, eventData }, params) => reviveEvent(
      await post(`${run(runId)}/events`, {
        eventType,
        correlationId,
        eventData: eventDataToWire(eventData),
        resolveData: params?.resolveData
      })
    ),
    hooks: {
      create: async (runId, { hookId, token, metadata }, params) => reviveEntity(await post(`${run(runId)}/hooks`, { hookId, token, metadata, resolveData: params?.resolveData })),
      dispose: async (hookId, params) => reviveEntity(await post(`/hooks/${pathSegment(hookId)}/dispose`, { resolveData: params?.resolveData }))
    }
  };
}
var LEGACY_MEMBERS = ["runs", "steps", "hooks"];
function showLegacyCalls(world, calls) {
  for (const member of LEGACY_MEMBERS) {
    const usual = world[member];
    const legacy = { ...calls[member], ...usual };
    Object.defineProperty(world, member, {
      enumerable: true,
      configurable: true,
      get: () => isLegacySdk() ? legacy : usual,
      // A World is a plain object whose members can be replaced.
      set: (value) => Object.defineProperty(world, member, { value, enumerable: true, configurable: true, writable: true })
    });
  }
  return world;
}
var LEGACY_TYPES = /* @__PURE__ */ new Set([
  "workflow_started",
  "workflow_completed",
  "workflow_failed",
  "step_started",
  "step_completed",
  "step_failed",
  "step_retrying",
  "hook_created",
  "hook_received",
  "hook_disposed",
  "wait_created",
  "wait_completed"
]);
function mayBeLegacy(event, params) {
  return event["specVersion"] === void 0 && !params?.["v1Compat"] && LEGACY_TYPES.has(String(event["eventType"]));
}

// src/world/queue.ts
function createQueue(config) {
  return async (queueName, message, options = {}) => {
    const settings = config();
    const anticipated2 = takeAnticipated(settings, { queueName, message, options });
    return anticipated2 ?? queuedAs(await call(settings, queueCall(settings, { queueName, message, options })));
  };
}
function queueCall(settings, { queueName, message, options }) {
  const app = appForQueue(settings);
  const own = settings.deploymentNamed ? settings.deploymentId : app?.deploymentId;
  const body = encode({
    queueName,
    // The apps of v5 inspect a delivered message and know only JSON, as in the SDK's own Worlds.
    ...detectSdk() === "v5" ? { jsonMessage: encodeJson(message) } : { message },
    idempotencyKey: options.idempotencyKey,
    delaySeconds: options.delaySeconds,
    headers: options.headers,
    deploymentId: options.deploymentId ?? own,
    // v4 leaves the namespace out of the names of steps (contract §4.1).
    namespace: settings.namespace,
    specVersion: options.specVersion,
    app
  });
  return { method: "POST", path: "/v1/queue", body };
}
function queuedAs(answer) {
  return { messageId: answer?.messageId ?? null };
}

// src/delivery/stepWrites.ts
var import_promises5 = require("node:timers/promises");
var MOST_STEPS = 1e4;
var SETTLE_MS = 1e4;
var QUIET_TURNS = 2;
var StepWrites = class {
  /** The running attempt of each step that began in this process. */
  #running = /* @__PURE__ */ new Map();
  #givenUp = /* @__PURE__ */ new Map();
  /** The attempt that wrote last, for each step that has written. */
  #wrote = /* @__PURE__ */ new Map();
  /** Limited by the calls in progress. */
  #underWay = /* @__PURE__ */ new Map();
  began({ runId, stepId, attempt }) {
    const key = keyOf(runId, stepId);
    remember(this.#running, key, attempt);
    if ((this.#givenUp.get(key)?.attempt ?? attempt) < attempt) this.#givenUp.delete(key);
  }
  ended(runId, stepId) {
    const key = keyOf(runId, stepId);
    this.#running.delete(key);
    this.#givenUp.delete(key);
    this.#wrote.delete(key);
  }
  /** Records that a write, or a close, is in progress. The caller reports its end. */
  writes(step) {
    const key = keyOf(step.runId, step.stepId);
    if (this.#wrote.get(key) !== step.attempt) remember(this.#wrote, key, step.attempt);
    const writes = this.#underWay.get(key) ?? /* @__PURE__ */ new Set();
    this.#underWay.set(key, writes);
    const write = new StepWrite(step.attempt, () => {
      writes.delete(write);
      if (writes.size === 0 && this.#underWay.get(key) === writes) this.#underWay.delete(key);
    });
    writes.add(write);
    return write;
  }
  /** Records that a write was abandoned before it was stored. Writes of an earlier attempt are ignored. */
  gaveUp({ runId, stepId, attempt }, error) {
    const key = keyOf(runId, stepId);
    if (attempt < (this.#running.get(key) ?? attempt)) return;
    remember(this.#givenUp, key, { attempt, error });
  }
  /**
   * Throws if the step must not be completed. If it has written, the caller waits for the returned promise until its
   * writes are stored; it is rejected if one of them is abandoned.
   */
  requireAllStored(runId, stepId) {
    const key = keyOf(runId, stepId);
    this.#requireNoneGivenUp(key, stepId);
    return this.#wrote.has(key) ? this.#settled(key, stepId) : void 0;
  }
  #requireNoneGivenUp(key, stepId) {
    const givenUp = this.#givenUp.get(key);
    if (givenUp) throw refusal(stepId, givenUp.error);
  }
  async #settled(key, stepId) {
    const until = Date.now() + SETTLE_MS;
    for (let quiet = 0; quiet < QUIET_TURNS; ) {
      const late = Date.now() > until;
      const running = this.#running.get(key) ?? 0;
      const waited = [...this.#underWay.get(key) ?? []].filter(({ attempt, failed }) => attempt >= running && (failed || !late));
      if (waited.length > 0) {
        quiet = 0;
        await Promise.all(waited.map(({ ended }) => ended));
      } else if (late) {
        break;
      } else {
        quiet++;
        await (0, import_promises5.setImmediate)();
      }
    }
    this.#requireNoneGivenUp(key, stepId);
  }
};
var StepWrite = class {
  constructor(attempt, forget) {
    this.attempt = attempt;
    let end2 = () => {
    };
    this.ended = new Promise((resolve) => end2 = resolve);
    this.#end = () => {
      forget();
      end2();
    };
  }
  attempt;
  /** It is being retried. */
  failed = false;
  ended;
  #end;
  end() {
    this.#end();
  }
};
function stepWrites() {
  return processWide("stepWrites", () => new StepWrites());
}
function noteStepEvent(runId, event, result, input) {
  const { eventType, correlationId: stepId } = event;
  if (!runId || typeof stepId !== "string") return;
  if (eventType === "step_started") {
    const step = isFields(result) ? result["step"] : void 0;
    const attempt = isFields(step) ? step["attempt"] : void 0;
    if (!isFields(step) || typeof attempt !== "number") return;
    stepWrites().began({ runId, stepId, attempt });
    noteDeliveredStep({ runId, stepId, attempt });
    noteGiven(stepId, attempt, step["input"] ?? input);
  } else if (eventType === "step_completed" || eventType === "step_failed" || eventType === "step_retrying") {
    stepWrites().ended(runId, stepId);
    noteTaken(stepId);
  }
}
function beforeStepEvent(runId, { eventType, correlationId }) {
  if (!runId || eventType !== "step_completed" || typeof correlationId !== "string") return void 0;
  return () => stepWrites().requireAllStored(runId, correlationId);
}
function refusal(stepId, cause) {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const message = `A write to a stream by step ${stepId} was given up, so the step is not completed and runs again: ${reason}`;
  return new WorkflowWorldError(message, { status: 503, code: "STREAM_WRITE_GIVEN_UP", cause });
}
function keyOf(runId, stepId) {
  return `${runId}/${stepId}`;
}
function remember(map, key, value) {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= MOST_STEPS) return;
    map.delete(oldest);
  }
}

// src/wire/answerShape.ts
function listIn(answer, key, url) {
  const list2 = answer?.[key];
  if (Array.isArray(list2)) return list2;
  throw new WorkflowWorldError(`${url} answered with something that is not an answer of world-redis: it has no list "${key}"`, { status: 502, url });
}

// src/world/runs.ts
var MOST_RUNS = 1e3;
function createRunOperations(config) {
  const post = (path, body) => call(config(), { method: "POST", path, body: encode(body) });
  const snapshot = async (id, resolveData) => reviveEntity(await call(config(), { method: "GET", path: withQuery(`/v1/runs/${pathSegment(id)}`, { resolveData }) }));
  return {
    async getMany(ids, params) {
      const runIds = [...new Set(ids)];
      const runs = /* @__PURE__ */ new Map();
      while (runs.size < runIds.length) {
        const rest = runIds.slice(runs.size, runs.size + MOST_RUNS);
        const answer = await post("/v1/runs/get", { runIds: rest, resolveData: params?.resolveData, partial: true });
        const data = listIn(answer, "data", serviceUrl(config(), "/v1/runs/get"));
        if (data.length === 0) throw new WorkflowWorldError("The service answered a call for runs with none of them");
        data.forEach((run, i) => runs.set(rest[i], run === null ? null : reviveEntity(run)));
      }
      return ids.map((id) => runs.get(id));
    },
    async waitForTerminalStatus(id, params = {}) {
      const { timeoutMs = 0, signal, resolveData } = params;
      if (timeoutMs <= 0 || signal?.aborted) return snapshot(id, resolveData);
      const settings = config();
      const { closing } = connectionTo(settings.url);
      const path = withQuery(`/v1/runs/${pathSegment(id)}/wait`, { timeoutMs: Math.ceil(timeoutMs), resolveData });
      try {
        return reviveEntity(await callOnce(settings, { method: "GET", path, holdMs: timeoutMs, signal }));
      } catch (error) {
        if (closing.signal.aborted) throw error;
        return snapshot(id, resolveData);
      }
    },
    async cancelMany({ runIds, cancelReason }) {
      const different = [...new Set(runIds)];
      const answer = await post("/v1/runs/cancel", { runIds: different, cancelReason });
      if (different.length === runIds.length) return answer;
      const results = new Map(answer.results.map((result, i) => [different[i], result]));
      return { ...answer, results: runIds.map((id) => results.get(id)) };
    },
    async experimentalSetAttributes(runId, changes, options) {
      const body = { changes, allowReservedAttributes: options?.allowReservedAttributes };
      const answer = await post(`/v1/runs/${pathSegment(runId)}/attributes`, body);
      return { attributes: answer.attributes };
    }
  };
}

// src/world/storage.ts
function createStorage(config) {
  const get = (path) => call(config(), { method: "GET", path });
  const legacy = createLegacyCalls(config);
  const postEvent = (runId, event, params, logEnd) => {
    const settings = config();
    const path = runId ? `/v1/runs/${pathSegment(runId)}/events` : "/v1/events";
    const body = encode(createRequest(event, params, logEnd));
    return call(settings, { method: "POST", path, body, then: thenCall(settings, runId, event), beforeTry: beforeStepEvent(runId, event) });
  };
  const writeEvent = async (runId, event, params) => {
    const write = beforeWrite(runId);
    try {
      const answer = postEvent(runId, event, params, write?.end);
      noteBegin(event, answer);
      const result = reviveResult(await answer);
      write?.answered(result);
      return result;
    } catch (error) {
      write?.failed(error);
      throw error;
    }
  };
  const createBatch = async (runId, requests, resolveData) => {
    const write = beforeWrite(runId);
    const body = encode({ events: requests, params: { resolveData, logEnd: write?.end } });
    try {
      const path = `/v1/runs/${pathSegment(runId)}/events/batch`;
      const answer = await call(config(), { method: "POST", path, body, beforeTry: beforeStepEvents(runId, requests) });
      const results = listIn(answer, "results", serviceUrl(config(), path)).map(reviveResult);
      for (const result of results) write?.answered(result);
      requests.forEach(({ event }, i) => noteStepEvent(runId, event, results[i], inputIn(requests, event)));
      return results;
    } catch (error) {
      write?.failed(error);
      const at = tooLarge(error) && parting(requests.map(({ event }) => event["correlationId"]));
      if (at === void 0) throw error;
      const first = await createBatch(runId, requests.slice(0, at), resolveData);
      return [...first, ...await createBatch(runId, requests.slice(at), resolveData)];
    }
  };
  const getOne = async (path, params, revive) => revive(await get(withQuery(path, { resolveData: params?.resolveData })));
  const getPage = async (path, query, revive) => {
    const { pagination, ...filters } = query;
    const { limit, cursor, sortOrder } = pagination ?? {};
    const page = await get(withQuery(path, { ...filters, limit, cursor, sortOrder }));
    return { data: listIn(page, "data", serviceUrl(config(), path)).map(revive), cursor: page.cursor ?? null, hasMore: page.hasMore };
  };
  return {
    runs: {
      get: async (id, params) => getOne(`/v1/runs/${pathSegment(id)}`, params, reviveEntity),
      list: async (params = {}) => {
        const { workflowName, status, pagination, resolveData } = params;
        return getPage("/v1/runs", { workflowName, status, pagination, resolveData }, reviveEntity);
      },
      ...createRunOperations(config)
    },
    steps: {
      get: async (runId, stepId, params) => {
        const parent = runId === void 0 ? "/v1" : `/v1/runs/${pathSegment(runId)}`;
        return getOne(`${parent}/steps/${pathSegment(stepId)}`, params, reviveEntity);
      },
      list: async ({ runId, pagination, resolveData }) => getPage(`/v1/runs/${pathSegment(runId)}/steps`, { pagination, resolveData }, reviveEntity)
    },
    events: {
      create: async (runId, event, params) => {
        const preloaded = takePreload(config, runId, () => createRequest(event, params));
        if (preloaded !== void 0) {
          const result = reviveResult(preloaded);
          beforeWrite(runId)?.answered(result);
          noteRun(runId, event, result);
          return result;
        }
        if (runId && mayBeLegacy(event, params)) {
          try {
            return await legacy.createEvent(runId, event, params);
          } catch (error) {
            const { status } = error;
            if (status !== 409 && status !== 404) throw error;
          }
        }
        try {
          noteStart(event);
          const result = await writeEvent(runId, event, params);
          noteRun(runId, event, result);
          noteStepEvent(runId, event, result);
          return result;
        } catch (error) {
          const refused = tooLarge(error);
          if (!refused || event.eventType !== "step_completed") throw error;
          return await writeEvent(runId, failedForSize(event, refused), params);
        }
      },
      createBatch: async (runId, events, params) => {
        spendPreload();
        const requests = events.map(({ event, occurredAt }) => ({
          event: eventToWire(event),
          occurredAt: toMillis(occurredAt)
        }));
        return { results: await createBatch(runId, requests, params?.resolveData) };
      },
      get: async (runId, eventId, params) => getOne(`/v1/runs/${pathSegment(runId)}/events/${pathSegment(eventId)}`, params, reviveEvent),
      // Without a limit the whole log is requested; the service sends a long one in several pages.
      list: async ({ runId, pagination, resolveData }) => {
        const path = `/v1/runs/${pathSegment(runId)}/events`;
        const { limit, cursor, sortOrder } = pagination ?? {};
        const readAll3 = async () => {
          const page2 = await getPage(path, { pagination, resolveData }, reviveEvent);
          while (page2.hasMore && page2.cursor !== null && limit === void 0) {
            const next = await getPage(path, { pagination: { ...pagination, cursor: page2.cursor }, resolveData }, reviveEvent);
            page2.data.push(...next.data);
            page2.cursor = next.cursor ?? page2.cursor;
            page2.hasMore = next.hasMore;
          }
          return page2;
        };
        const read = () => readAll3().catch((error) => {
          if (cursor !== void 0) noteRefusedCursor(runId, error);
          else if (limit === void 0 && isRefusedCursor(error)) return readAll3();
          throw error;
        });
        const fromStart = limit === void 0 && cursor === void 0 && sortOrder === "asc";
        const page = await (fromStart && resolveData !== "none" ? readTogether(runId, read) : read());
        if (sortOrder !== "desc") notePage(runId, page.data, fromStart);
        return page;
      },
      listByCorrelationId: async ({ correlationId, runId, pagination, resolveData }) => getPage("/v1/events", { correlationId, runId, pagination, resolveData }, reviveEvent)
    },
    hooks: {
      get: async (hookId, params) => getOne(`/v1/hooks/${pathSegment(hookId)}`, params, reviveEntity),
      getByToken: async (token, params) => getOne(withQuery("/v1/hooks/by-token", { token, resolveData: params?.resolveData }), void 0, reviveEntity),
      list: async ({ runId, pagination, resolveData } = {}) => getPage("/v1/hooks", { runId, pagination, resolveData }, reviveEntity)
    }
  };
}
function thenCall(settings, runId, event) {
  const enqueued = anticipated(runId, event);
  return enqueued && {
    call: queueCall(settings, enqueued),
    answered: (value) => keepAnticipated(settings, enqueued, queuedAs(value))
  };
}
function beforeStepEvents(runId, requests) {
  const checks = requests.flatMap(({ event }) => beforeStepEvent(runId, event) ?? []);
  if (checks.length === 0) return void 0;
  return () => {
    const holds = checks.flatMap((check) => check() ?? []);
    return holds.length === 0 ? void 0 : Promise.all(holds).then(() => void 0);
  };
}
function inputIn(requests, { eventType, correlationId }) {
  if (eventType !== "step_started") return void 0;
  const created = requests.find(({ event }) => event["eventType"] === "step_created" && event["correlationId"] === correlationId);
  const data = created?.event["eventData"];
  return isFields(data) ? data["input"] : void 0;
}
function createRequest(event, params = {}, logEnd) {
  const { resolveData, v1Compat, eventCount, sinceCursor, skipPreload, preloadEvents, resumePayloadDigest, occurredAt, resumeId } = params;
  return {
    event: eventToWire(event, resumeId),
    params: {
      resolveData,
      v1Compat,
      eventCount,
      sinceCursor,
      skipPreload,
      preloadEvents,
      resumePayloadDigest,
      occurredAt: toMillis(occurredAt),
      logEnd
    }
  };
}
function eventToWire({ eventType, correlationId, specVersion, eventData }, resumeId) {
  return { eventType, correlationId, specVersion, eventData: eventDataToWire(eventData), resumeId };
}
var ENTITIES = ["run", "step", "hook", "wait"];
function reviveResult(result) {
  if (!isFields(result)) return result;
  for (const key of ENTITIES) reviveEntity(result[key]);
  reviveEvent(result["event"]);
  if (Array.isArray(result["events"])) result["events"].forEach(reviveEvent);
  for (const key in result) {
    if (result[key] === null && key !== "cursor") delete result[key];
  }
  return result;
}

// src/world/streamError.ts
function withStreamErrors(operations) {
  const wrapped = {};
  for (const name of Object.keys(operations)) {
    wrapped[name] = (...args) => operations[name](...args).catch(rethrow);
  }
  return wrapped;
}
function rethrow(error) {
  if (!(error instanceof WorkflowWorldError) || error.name !== "WorkflowWorldError") throw error;
  throw new StreamError(error.message, { status: error.status, url: error.url, cause: error });
}

// src/sdk/stepContext.ts
var CONTEXT_STORAGE = /* @__PURE__ */ Symbol.for("WORKFLOW_STEP_CONTEXT_STORAGE");
function stepOfCode() {
  const storage = globalThis[CONTEXT_STORAGE];
  const context = storage?.getStore?.();
  const runId = context?.workflowMetadata?.workflowRunId;
  const { stepId, attempt } = context?.stepMetadata ?? {};
  if (typeof runId !== "string" || typeof stepId !== "string" || typeof attempt !== "number") return void 0;
  return { runId, stepId, attempt };
}

// src/delivery/currentStep.ts
function currentStep() {
  return stepOfCode() ?? deliveredStep();
}

// src/wire/frames.ts
var CHUNKS = "application/vnd.world-redis.chunks";
var END = 4294967295;
var KEEP_ALIVE = 4294967294;
var HEADER_BYTES2 = 4;
var UNCLEARED_BYTES = 4096;
function encodeFrames(chunks) {
  const total = chunks.reduce((sum, chunk) => sum + HEADER_BYTES2 + chunk.byteLength, 0);
  const body = Buffer.allocUnsafe(total);
  let offset = 0;
  for (const chunk of chunks) {
    body.writeUInt32BE(chunk.byteLength, offset);
    body.set(chunk, offset + HEADER_BYTES2);
    offset += HEADER_BYTES2 + chunk.byteLength;
  }
  return body;
}
var FrameDecoder = class {
  /** Whether the end frame was read. Anything after it is ignored. */
  ended = false;
  #pieces = [];
  /** How much of the first piece was consumed. */
  #at = 0;
  #buffered = 0;
  /** Length of the frame whose header was read; undefined between frames. */
  #length;
  /** Adds the next piece and returns the chunks that it completes, in order. */
  push(piece) {
    this.#pieces.push(piece);
    this.#buffered += piece.byteLength;
    const chunks = [];
    while (!this.ended) {
      if (this.#length === void 0) {
        if (this.#buffered < HEADER_BYTES2) break;
        const length = this.#takeLength();
        if (length === END) this.ended = true;
        else if (length !== KEEP_ALIVE) this.#length = length;
      } else {
        if (this.#buffered < this.#length) break;
        chunks.push(this.#take(this.#length));
        this.#length = void 0;
      }
    }
    return chunks;
  }
  #takeLength() {
    const first = this.#pieces[0];
    const at = this.#at;
    if (at + HEADER_BYTES2 >= first.byteLength) return bigEndian(this.#take(HEADER_BYTES2), 0);
    this.#at += HEADER_BYTES2;
    this.#buffered -= HEADER_BYTES2;
    return bigEndian(first, at);
  }
  /** Removes `count` bytes from the front, which must be available, and returns a copy of them. */
  #take(count2) {
    const taken2 = ownBytes(count2);
    let filled = 0;
    let used = 0;
    while (filled < count2) {
      const piece = this.#pieces[used];
      const end2 = Math.min(piece.byteLength, this.#at + count2 - filled);
      taken2.set(piece.subarray(this.#at, end2), filled);
      filled += end2 - this.#at;
      this.#at = end2;
      if (end2 === piece.byteLength) {
        used++;
        this.#at = 0;
      }
    }
    if (used > 0) this.#pieces.splice(0, used);
    this.#buffered -= count2;
    return taken2;
  }
};
function bigEndian(bytes, at) {
  let value = 0;
  for (let i = 0; i < HEADER_BYTES2; i++) value = value * 256 + bytes[at + i];
  return value;
}
function ownBytes(count2) {
  if (count2 < UNCLEARED_BYTES) return new Uint8Array(count2);
  return new Uint8Array(Buffer.allocUnsafeSlow(count2).buffer);
}

// src/transport/pieces.ts
var Pieces = class {
  #body;
  #came = [];
  #ended = false;
  #failure;
  #wake;
  constructor(body) {
    this.#body = body;
    body.pause();
    body.on("data", (piece) => {
      body.pause();
      this.#came.push(piece);
      this.#wake?.();
    });
    body.on("end", () => {
      this.#ended = true;
      this.#wake?.();
    });
    body.on("error", (error) => {
      this.#failure = error;
      this.#wake?.();
    });
    body.on("close", () => {
      this.#ended = true;
      this.#wake?.();
    });
  }
  /** The next piece; undefined at the end. Pieces from before a failure are returned before it is thrown. */
  async next() {
    for (; ; ) {
      const piece = this.#came.shift();
      if (piece !== void 0) return piece;
      if (this.#failure !== void 0) throw this.#failure;
      if (this.#ended) return void 0;
      await new Promise((resolve) => {
        this.#wake = resolve;
        this.#body.resume();
      });
      this.#wake = void 0;
    }
  }
};

// src/world/streamReader.ts
var GIVE_UP_AFTER_MS = 3e4;
var GOOD_CONNECTION_MS = 5e3;
var LINGER_MS = 1e3;
function openStream(config, name, startIndex) {
  const live = new LiveRead(config, name, startIndex);
  return new ReadableStream({
    async pull(controller) {
      const chunks = await live.next();
      if (live.cancelled) return;
      for (const chunk of chunks ?? []) controller.enqueue(chunk);
      if (chunks === void 0) controller.close();
    },
    cancel: () => live.cancel()
  });
}
var LiveRead = class {
  cancelled = false;
  #config;
  #path;
  /** The next index to request; negative until the service has resolved it. */
  #nextIndex;
  #body;
  #decoder = new FrameDecoder();
  #ready = [];
  #abort = new AbortController();
  #connection;
  #connectedAt = Number.POSITIVE_INFINITY;
  #failures = 0;
  #failingSince = 0;
  constructor(config, name, startIndex) {
    this.#config = config;
    this.#path = `/v1/streams/${pathSegment(name)}`;
    this.#nextIndex = startIndex;
  }
  /** The next non-empty chunks, at least one; undefined at the end of the stream or when cancelled. */
  async next() {
    while (!this.cancelled) {
      const ready = this.#ready;
      this.#ready = [];
      this.#nextIndex += ready.length;
      const chunks = ready.filter((chunk) => chunk.byteLength > 0);
      if (chunks.length > 0) return chunks;
      if (this.#decoder.ended) return void 0;
      await this.#readOn();
    }
    return void 0;
  }
  cancel() {
    this.cancelled = true;
    this.#ready = [];
    this.#abort.abort();
  }
  /** Whether `close()` was called since this read began; it then ends instead of opening a connection again. */
  get #closed() {
    return this.#connection?.closing.signal.aborted ?? false;
  }
  /** Reads one piece of the body, and connects first if necessary. */
  async #readOn() {
    try {
      this.#body ??= await this.#connect();
      const piece = await this.#body.next();
      if (piece === void 0) throw new Error("the connection was cut before the end of the stream");
      this.#failures = 0;
      this.#ready = this.#decoder.push(piece);
      if (this.#decoder.ended) this.#release(this.#body);
    } catch (error) {
      this.#body = void 0;
      this.#decoder = new FrameDecoder();
      if (!this.cancelled) await this.#afterFailure(error);
    }
  }
  async #connect() {
    this.#connectedAt = Number.POSITIVE_INFINITY;
    const connection = this.#connection ??= connectionTo(this.#config.url);
    const path = `${this.#path}?startIndex=${this.#nextIndex}`;
    const answer = await connection.reads.open({
      method: "GET",
      path: connection.basePath + path,
      headers: { ...commonHeaders(this.#config), accept: CHUNKS },
      body: void 0,
      timeoutMs: 0,
      // a stream may be silent for hours without a fault
      signal: this.#abort.signal
    });
    const contentType = String(answer.headers["content-type"] ?? "");
    if (answer.status !== 200 || !contentType.startsWith(CHUNKS)) {
      throw await this.#refusal(answer, contentType, serviceUrl(this.#config, path));
    }
    const start = Number(answer.headers["x-stream-start"] ?? Number.NaN);
    if (Number.isSafeInteger(start) && start >= 0) this.#nextIndex = start;
    this.#connectedAt = Date.now();
    return new Pieces(answer.body);
  }
  /** Reads a body after the end frame to its end, so that its connection can be reused and blocks no other read. */
  #release(body) {
    const timer = setTimeout(() => this.#abort.abort(), LINGER_MS);
    const drain = async () => {
      while (await body.next() !== void 0) ;
    };
    const done = () => clearTimeout(timer);
    drain().then(done, done);
  }
  async #refusal(answer, contentType, url) {
    const { status } = answer;
    const wire = decodeBody(await readAll2(answer.body), contentType);
    if (status >= 200 && status < 300) {
      return new WorkflowWorldError(`${url} answered with something that is not a stream of world-redis`, {
        status: 502,
        url
      });
    }
    const retryAfter = retryAfterSeconds(answer.headers["retry-after"]);
    const error = errorFromWire(wire?.error, { status, url, retryAfter });
    return new Refused(error, status >= 500 || status === 429, (retryAfter ?? 0) * 1e3);
  }
  /** Waits before the next connection, or throws if a further one is useless. */
  async #afterFailure(failure) {
    const now = Date.now();
    if (now - this.#connectedAt > GOOD_CONNECTION_MS) this.#failures = 0;
    if (this.#failures === 0) this.#failingSince = now;
    const url = serviceUrl(this.#config, this.#path);
    const error = failure instanceof Refused ? failure.error : transportError(failure, url);
    const passing = failure instanceof Refused ? failure.passing : !(failure instanceof WorkflowWorldError);
    if (!passing || this.#closed || now - this.#failingSince > GIVE_UP_AFTER_MS) throw error;
    const pause = Math.max(pauseBefore(this.#failures++), failure instanceof Refused ? failure.waitMs : 0);
    await pauseFor(pause, this.#abort.signal);
    if (this.#closed) throw error;
  }
};
var Refused = class extends Error {
  constructor(error, passing, waitMs) {
    super(error.message);
    this.error = error;
    this.passing = passing;
    this.waitMs = waitMs;
  }
  error;
  passing;
  waitMs;
};

// src/world/streams.ts
var BATCH_BYTES = 8 * 1024 * 1024;
var SHORTEST_TIMEOUT_MS = 5e3;
var NAMES2 = 1e3;
function createStreams(config) {
  const streamPath = async (runId, name) => `/v1/runs/${pathSegment(await runId)}/streams/${pathSegment(name)}`;
  const append = async (runId, name, chunks, from) => {
    const path = await streamPath(runId, name);
    let sent = 0;
    for (const batch of batches(chunks.map(toBytes))) {
      const only = batch.length === 1 ? batch[0] : void 0;
      await send3(config(), from, {
        method: "POST",
        path,
        body: only ?? encodeFrames(batch),
        contentType: only === void 0 ? CHUNKS : "application/octet-stream",
        headers: from.writer && {
          "x-stream-writer": from.writer.id,
          "x-stream-sequence": String(from.writer.sequence + sent)
        }
      });
      sent += batch.length;
    }
  };
  const close = async (runId, name, from) => {
    await send3(config(), from, { method: "POST", path: `${await streamPath(runId, name)}/close`, body: encode({}) });
  };
  return {
    write: (runId, name, chunk) => append(runId, name, [chunk], sourceOf(name)),
    writeMulti: (runId, name, chunks) => append(runId, name, chunks, sourceOf(name)),
    close: (runId, name) => close(runId, name, sourceOf(name)),
    createWriteSession(runId, name, { writerId }) {
      const source = sourceOf(name);
      const from = { ...source, endless: source.step === void 0 };
      return {
        write: (sequence, chunks) => append(runId, name, chunks, { ...from, writer: { id: writerId, sequence } }),
        close: () => close(runId, name, from)
      };
    },
    async read(name, startIndex = 0) {
      return openStream(config(), name, startIndex);
    },
    async list(runId) {
      const names = [];
      for (let cursor; ; ) {
        const path = withQuery(`/v1/runs/${pathSegment(runId)}/streams`, { limit: NAMES2, cursor });
        const page = await call(config(), { method: "GET", path });
        names.push(...listIn(page, "data", serviceUrl(config(), path)));
        const { hasMore, cursor: next } = page;
        if (!hasMore || !next) return names;
        cursor = next;
      }
    },
    async getChunks(name, options) {
      const path = withQuery(`/v1/streams/${pathSegment(name)}/chunks`, {
        limit: options?.limit,
        cursor: options?.cursor
      });
      const page = await call(config(), { method: "GET", path });
      return { data: listIn(page, "data", serviceUrl(config(), path)), cursor: page.cursor ?? null, hasMore: page.hasMore, done: page.done };
    },
    async getInfo(name) {
      const answer = await call(config(), { method: "GET", path: `/v1/streams/${pathSegment(name)}/info` });
      const { tailIndex, done } = answer;
      return { tailIndex, done };
    }
  };
}
function sourceOf(name) {
  const step = currentStep();
  return step ? { step } : { step, oneOf: writersOf(name) };
}
async function send3(config, { step, oneOf, endless }, request2) {
  const write = step && stepWrites().writes(step);
  const patience = {
    forMs: endless ? Number.POSITIVE_INFINITY : config.streamRetryForMs,
    timeoutMs: Math.min(config.timeoutMs, Math.max(SHORTEST_TIMEOUT_MS, config.streamRetryForMs / 3)),
    failed: () => {
      if (write) write.failed = true;
    },
    gaveUp: (error) => {
      if (step) stepWrites().gaveUp(step, error);
    }
  };
  try {
    const steps = step ? [step] : await oneOf;
    await call(config, { ...request2, headers: { ...request2.headers, ...stepHeaders(steps) }, patience });
  } finally {
    write?.end();
  }
}
function stepHeaders(steps) {
  const [first, ...others] = steps ?? [];
  if (!first) return void 0;
  if (others.length === 0) return { "x-stream-step": first.stepId, "x-stream-attempt": String(first.attempt) };
  return { "x-stream-steps": [first, ...others].map(({ stepId, attempt }) => `${stepId} ${attempt}`).join(", ") };
}
function toBytes(chunk) {
  return typeof chunk === "string" ? Buffer.from(chunk, "utf8") : chunk;
}
function* batches(chunks) {
  let batch = [];
  let size = 0;
  for (const chunk of chunks) {
    if (batch.length > 0 && size + chunk.byteLength > BATCH_BYTES) {
      yield batch;
      batch = [];
      size = 0;
    }
    batch.push(chunk);
    size += chunk.byteLength;
  }
  if (batch.length > 0) yield batch;
}

// src/world/world.ts
function createWorld(options = {}) {
  readFastPaths();
  const config = configReader(options);
  const streams = createStreams(config);
  const world = {
    specVersion: specVersionForSdk(),
    capabilities: { hookRetention: { active: true }, hookResumeDedup: true },
    // The SDK makes a writer wait for its flush before it accepts the next chunk, so an interval would never collect
    // anything and only delay every chunk. One append takes a fraction of a millisecond.
    streamFlushIntervalMs: 0,
    start: () => startRegistering(config),
    close: async () => {
      const settings = config();
      await unregister(settings);
      await closeConnection(settings.url);
    },
    getDeploymentId: async () => config().deploymentId,
    queue: createQueue(config),
    createQueueHandler: (prefix2, handler) => {
      noteHandler(prefix2);
      return createQueueHandler(config, prefix2, handler);
    },
    ...createStorage(config),
    writeToStream: (name, runId, chunk) => streams.write(runId, name, chunk),
    writeToStreamMulti: (name, runId, chunks) => streams.writeMulti(runId, name, chunks),
    closeStream: (name, runId) => streams.close(runId, name),
    readFromStream: (name, startIndex) => streams.read(name, startIndex),
    listStreamsByRunId: (runId) => streams.list(runId),
    getStreamChunks: (name, _runId, chunkOptions) => streams.getChunks(name, chunkOptions),
    getStreamInfo: (name) => streams.getInfo(name),
    streams: {
      ...withStreamErrors({
        write: (runId, name, chunk) => streams.write(runId, name, chunk),
        writeMulti: (runId, name, chunks) => streams.writeMulti(runId, name, chunks),
        close: (runId, name) => streams.close(runId, name),
        get: (_runId, name, startIndex) => streams.read(name, startIndex),
        list: (runId) => streams.list(runId),
        getChunks: (_runId, name, chunkOptions) => streams.getChunks(name, chunkOptions),
        getInfo: (_runId, name) => streams.getInfo(name)
      }),
      createWriteSession: (runId, name, sessionOptions) => withStreamErrors(streams.createWriteSession(runId, name, sessionOptions))
    }
  };
  return showLegacyCalls(world, createLegacyCalls(config));
}

// src/index.ts
var index_default = createWorld;
// Annotate the CommonJS export names for ESM import in node:
0 && (module.exports = {
  createWorld
});
