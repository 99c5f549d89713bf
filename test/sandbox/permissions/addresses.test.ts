/** Hosts are compared in the form that a connection would use, and only the public internet's addresses are public. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import {
  canonicalHost,
  isLoopback,
  isPublicAddress,
  isPublicName,
} from "../../../sandbox/permissions/addresses.ts";

describe("a host has one form", () => {
  for (const [written, form] of [
    ["Example.COM", "example.com"],
    ["example.com.", "example.com"],
    ["bücher.example", "xn--bcher-kva.example"],
    ["BÜCHER.example", "xn--bcher-kva.example"],
    ["ｅxample。com", "example.com"],
    ["127.0.0.1", "127.0.0.1"],
    ["127.1", "127.0.0.1"],
    ["0x7f.1", "127.0.0.1"],
    ["0177.0.0.1", "127.0.0.1"],
    ["2130706433", "127.0.0.1"],
    ["0x7f000001", "127.0.0.1"],
    ["127.0.0.1.", "127.0.0.1"],
    ["１２７.0.0.1", "127.0.0.1"],
    ["[::1]", "::1"],
    ["0:0:0:0:0:0:0:1", "::1"],
    ["[::FFFF:127.0.0.1]", "127.0.0.1"],
    ["::ffff:7f00:1", "127.0.0.1"],
    ["2001:DB8::0001", "2001:db8::1"],
    ["localhost", "localhost"],
  ] as const) {
    test(`${written} is ${form}`, () => assert.equal(canonicalHost(written), form));
  }

  for (const bad of [
    "",
    ".",
    "..",
    "a..b",
    ".a",
    "a..",
    "user@host",
    "host:80",
    "a/b",
    "a b",
    "a\0b",
    "a%2eb",
    "1.2.3.256",
    "1.2.3.4.5",
    "fe80::1%eth0",
    "[::1",
    "::1]",
    "[1.2.3.4]",
    "[[::1]]",
    "*.a.com",
    "*",
    "-a.com",
    "a-.com",
    "a.1",
    "a".repeat(64),
    `${"a.".repeat(130)}com`,
    "a\u202eb.com\\",
  ]) {
    test(`${JSON.stringify(bad.slice(0, 20))} is none`, () => assert.equal(canonicalHost(bad), undefined));
  }

  test("which is its own", () => {
    const host = fc.oneof(
      fc.string({ unit: "binary", maxLength: 20 }),
      fc.domain(),
      fc.ipV4Extended(),
      fc.ipV6(),
    );
    fc.assert(
      fc.property(host, (text) => {
        const form = canonicalHost(text);
        if (form !== undefined) assert.equal(canonicalHost(form), form);
      }),
    );
  });

  test("that is what fetch would connect to", () => {
    fc.assert(
      fc.property(fc.oneof(fc.domain(), fc.ipV4Extended()), (text) => {
        assert.equal(canonicalHost(text), new URL(`http://${text}/`).hostname);
      }),
    );
  });
});

describe("the public internet", () => {
  for (const address of [
    "8.8.8.8",
    "1.1.1.1",
    "172.15.0.1",
    "172.32.0.1",
    "100.63.0.1",
    "100.128.0.1",
    "11.0.0.1",
    "223.255.255.255",
    "2606:4700::1111",
    "64:ff9b::808:808",
    "2001:4860:4860::8888",
    "::ffff:8.8.8.8",
  ]) {
    test(`has ${address}`, () => assert.equal(isPublicAddress(address), true));
  }
  for (const address of [
    "0.0.0.0",
    "0.1.2.3",
    "10.1.2.3",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.255",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.19.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.1.1.1",
    "240.0.0.1",
    "255.255.255.255",
    "168.63.129.16",
    "100.100.100.200",
    "192.88.99.1",
    "::",
    "::1",
    "fe80::1",
    "fec0::1",
    "fc00::1",
    "fd00:ec2::254",
    "ff02::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:a9fe:a9fe",
    "::127.0.0.1",
    "::ffff:0:127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::808:808",
    "2002:7f00:1::",
    "2002:808:808::",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:db8::1",
    "3fff::1",
    "100::1",
    "5f00::1",
    "2606:4700::5efe:7f00:1",
    "0x7f.1",
    "2130706433",
    "",
    "nonsense",
    "localhost",
    "8.8.8.8/8",
    "fe80::1%eth0",
  ]) {
    test(`does not have ${address || "an empty text"}`, () => assert.equal(isPublicAddress(address), false));
  }

  test("has no address that carries one that it does not have", () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
        const hex = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
        const isPublic = isPublicAddress(address);
        assert.equal(isPublicAddress(`::ffff:${hex}`), isPublic);
        assert.equal(isPublicAddress(`64:ff9b::${hex}`), isPublic);
        assert.equal(isPublicAddress(`2606:4700::5efe:${hex}`), isPublic);
        assert.equal(isPublicAddress(`2002:${hex}::1`), false);
        assert.equal(isPublicAddress(`::${hex}`), false);
      }),
    );
  });

  test("has names with a dot that nobody uses for his own network", () => {
    for (const name of ["example.com", "a.b.example"]) assert.equal(isPublicName(name), true, name);
    for (const name of [
      "localhost",
      "a.localhost",
      "printer.local",
      "metadata.google.internal",
      "intranet",
      "router.lan",
      "8.8.8.8",
      "::1",
    ]) {
      assert.equal(isPublicName(name), false, name);
    }
  });

  test("is not this machine", () => {
    for (const address of ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "0x7f.1"])
      assert.equal(isLoopback(address), true, address);
    for (const address of ["128.0.0.1", "::2", "localhost", "0.0.0.0"])
      assert.equal(isLoopback(address), false, address);
  });
});
