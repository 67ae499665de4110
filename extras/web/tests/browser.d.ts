declare const DecompressionStream: any; // which TypeScript 4.8 does not know
