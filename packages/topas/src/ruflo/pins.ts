/** A published package, and the sha512 of its tarball as the registry must deliver it. */
export interface Pin {
  readonly name: string;
  readonly version: string;
  /** `sha512-` and base64, as npm writes it. */
  readonly integrity: string;
  /** v3 is installed with what it depends on; v2 needs Node's own modules only and is unpacked. */
  readonly use: "v3" | "v2";
}

export const PINS: readonly Pin[] = [
  {
    name: "ruflo",
    version: "3.42.5",
    integrity: "sha512-X8JoOiYe2EF6jBBh7y10bCRL3YRp0X4ucF39foUKG8+q1/BwdypeG37oGxuzQMRhzOkhHEDF21GGJ/txgBL2lQ==",
    use: "v3",
  },
  {
    name: "@claude-flow/cli",
    version: "3.42.5",
    integrity: "sha512-51xJxm1eXHsGxkK3N6l5kRVkkCVS3rXDDA3zxbZ75bqfG7m/ZuaZLC0DSjqM46UKi1h9bfh5DkeFBJCu2kLmSA==",
    use: "v3",
  },
  {
    name: "claude-flow",
    version: "2.7.47",
    integrity: "sha512-DwC9DEC2MQY/0WBEHcQ95sfo/LwCzpbzEK74DLJaIJLNxu/6w+IpDgYPJ7BpGATfxMMHXgeRSMRn9yaSXlVDfQ==",
    use: "v2",
  },
];

/** File that `npm pack` makes of a package. */
export function tarballName({ name, version }: Pin): string {
  return `${name.replace(/^@/, "").replace("/", "-")}-${version}.tgz`;
}
