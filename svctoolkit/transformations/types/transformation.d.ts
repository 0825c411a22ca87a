// What a JavaScript transformation can use. Put `// @ts-check` at the top of your file and keep this file next to it.
//
//   /** @type {TransformEvent} */
//   export function transformEvent(event, metadata) { ... }

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

interface CustomerEvent {
  type: 'identify' | 'track' | 'page' | 'screen' | 'group' | 'alias';
  messageId?: string;
  userId?: string;
  anonymousId?: string;
  event?: string;
  name?: string;
  properties?: Record<string, any>;
  traits?: Record<string, any>;
  context?: Record<string, any>;
  integrations?: Record<string, any>;
  originalTimestamp?: string;
  timestamp?: string;
  sentAt?: string;
  [key: string]: any;
}

/** Metadata of an event, in addition to its content. Unknown values are undefined. */
interface EventMetadata {
  sourceId?: string;
  sourceName?: string;
  workspaceId?: string;
  sourceType?: string;
  sourceCategory?: string;
  destinationId?: string;
  destinationType?: string;
  destinationName?: string;
  namespace?: string;
  originalSourceId?: string;
  trackingPlanId?: string;
  trackingPlanVersion?: number;
  sourceTpConfig?: any;
  mergedTpConfig?: any;
  jobId?: number;
  sourceJobId?: string;
  sourceJobRunId?: string;
  sourceTaskRunId?: string;
  recordId?: any;
  messageId?: string;
  messageIds?: string[];
  rudderId?: string;
  receivedAt?: string;
  eventName?: string;
  eventType?: string;
  sourceDefinitionId?: string;
  destinationDefinitionId?: string;
  transformationId?: string;
  transformationVersionId?: string;
}

type Metadata = (event: CustomerEvent) => EventMetadata;
type Returned = CustomerEvent | CustomerEvent[] | null | undefined | void;

/** Return the event, several events, or nothing to drop it. */
type TransformEvent = (event: CustomerEvent, metadata: Metadata) => Returned | Promise<Returned>;
/** Return the events to keep. */
type TransformBatch = (events: CustomerEvent[], metadata: Metadata) => CustomerEvent[] | Promise<CustomerEvent[]>;

interface FetchOptions {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

interface FetchResult {
  url: string;
  status: number;
  headers: Record<string, string>;
  /** The parsed JSON, or the text if it is not JSON. */
  body: any;
}

/** Logs a line that is shown with the event. */
declare function log(...values: any[]): void;
/** Returns the parsed JSON response, or the text "ERROR" for any failure. */
declare function fetch(url: string, options?: FetchOptions): Promise<any>;
/** Returns the whole response, whatever its status. Rejects with `{message}` without a response. */
declare function fetchV2(url: string, options?: FetchOptions): Promise<FetchResult>;
/** Returns the location of an IP address. */
declare function geolocation(ip: string): Promise<any>;
/** Returns a credential of the workspace, or undefined. */
declare function getCredential(key: string): string | undefined;

declare module "@rs/hash/v1" {
  /** Returns hexadecimal, computed from UTF-8. */
  export function sha256(text: string): string;
  /** Returns hexadecimal, computed from the low byte of each character. */
  export function md5(text: string): string;
  /** Returns a number of 53 bits. Fast, but not cryptographically secure. */
  export function cyrb53(text: string, seed?: number): number;
}

declare module "@rs/encrypt/v1" {
  /** RSA with keys in PEM; encrypted texts are base64. Returns `false` on failure. */
  export class JSEncrypt {
    setKey(pem: string): void;
    setPublicKey(pem: string): void;
    setPrivateKey(pem: string): void;
    encrypt(text: string): string | false;
    decrypt(encrypted: string): string | false | null;
  }
}

declare module "@rs/userAgentParser/v1" {
  interface Version {
    name?: string;
    version?: string;
  }
  interface Result {
    ua: string;
    browser: Version & { major?: string };
    engine: Version;
    os: Version;
    device: { vendor?: string; model?: string; type?: string };
    cpu: { architecture?: string };
  }
  export class UAParser {
    constructor(userAgent?: string);
    setUA(userAgent: string): this;
    getUA(): string;
    getBrowser(): Result["browser"];
    getEngine(): Result["engine"];
    getOS(): Result["os"];
    getDevice(): Result["device"];
    getCPU(): Result["cpu"];
    getResult(): Result;
  }
}

declare module "@rs/localizeAppleDeviceModel/v1" {
  /** `iPhone 12 Mini` for `iPhone13,1` in `context.device.model`; undefined if the system is not Apple's. */
  export function getLocalizedDeviceModel(event: any): string | undefined;
}
