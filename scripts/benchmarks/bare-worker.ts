/** The least that a confined worker can be: SES, a compartment, and a word that it is there. What `scripts/bench sandbox` compares with. */
import "ses";

lockdown({ errorTaming: "safe", consoleTaming: "unsafe", domainTaming: "unsafe", reporting: "none" });
const compartment = new Compartment({});
postMessage(compartment.evaluate("1 + 1"));
