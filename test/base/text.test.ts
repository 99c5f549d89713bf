import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { addSecret, addSecretOf, redact } from "../../src/base/log.ts";
import { ellipsis, hidesSomething, stripControls, visible } from "../../src/base/text.ts";

describe("text from outside", () => {
  test("escape sequences of every kind are removed", () => {
    for (const [text, plain] of [
      ["\u001b[31mred\u001b[0m", "red"],
      ["\u001b]0;title\u0007x", "x"],
      ["\u001b]52;c;aGk=\u001b\\x", "x"],
      ["\u001bP+q\u001b\\x", "x"],
      ["\u009b31mred", "red"],
      ["\u001b]0;unterminated\nnext", "\nnext"],
      ["\u001b[2J\u001b[Hx", "x"],
      ["\u001bcx", "x"],
      ["a\u0008b\u0000c\u007f", "abc"],
      ["a\r\nb\rc", "a\nb\nc"],
      ["tab\tstays", "tab\tstays"],
      ["\u202eevil\u202c", "evil"],
      ["naïve 日本 😀", "naïve 日本 😀"],
    ]) {
      assert.equal(stripControls(text as string), plain);
    }
  });

  test("what is left never holds an escape character", () => {
    const pieces = ["\u001b", "\u001b[", "\u001b]", "m", "\u0007", "\\", "\u009b", "x", "\n", "0"];
    for (let seed = 0; seed < 5000; seed++) {
      let text = "";
      for (let n = seed; n > 0; n = Math.floor(n / 7)) text += pieces[(n * 13) % pieces.length];
      assert.doesNotMatch(stripControls(text), /[\u001b\u0007\u009b]/);
    }
  });

  test("where the very text is judged, nothing of it is hidden", () => {
    assert.equal(
      visible("a\u001b]; touch x #\u0007b\u009dc\u202e\u200bd\n"),
      "a\\x1b]; touch x #\\x07b\\x9dc\\u{202e}\\u{200b}d\n",
    );
    assert.ok(
      hidesSomething("\u0007") && hidesSomething("\ufeff") && !hidesSomething("plain\n\ttext é 日本"),
    );
  });

  test("an ellipsis never splits a surrogate pair", () => {
    assert.equal(ellipsis("abcdef", 4), "abc…");
    assert.equal(ellipsis("ab😀😀", 4), "ab…");
  });

  test("a secret that is known is never printed", () => {
    addSecret("sk-very-secret");
    addSecret("ab");
    assert.equal(redact("key sk-very-secret, tab"), "key [secret], tab");
  });

  test("of several, the one that holds another goes as a whole", () => {
    addSecret("inner-secret");
    addSecret("outer-with-inner-secret");
    assert.equal(redact("it is outer-with-inner-secret."), "it is [secret].");
  });

  test("of an extension are bounded, and are no sentences and no addresses", () => {
    addSecret("Secret-of-the-user");
    for (let i = 0; i < 1000; i++) addSecretOf("one", `Given-${i}!`);
    addSecretOf("one", "Secret-of-the-user");
    for (const plain of ["wants to read", "https://evil.example", "extension"]) addSecretOf("one", plain);
    assert.equal(redact("Given-999! Given-0!"), "[secret] Given-0!");
    for (let i = 0; i < 1000; i++) addSecretOf("one", `More-${i}!`);
    assert.equal(redact("Secret-of-the-user"), "[secret]", "what is known as one stays one");
    const text = "extension x wants to read https://evil.example";
    assert.equal(redact(text), text);
  });
});
