#!/bin/sh
# A policy, a tool and a command, in POSIX sh. The protocol: xdev docs protocol
# It parses no JSON: it takes the id and the event from the start of the line, where xdev writes them, and looks for texts in the
# rest. What it sends has a fixed shape and holds nothing that came in. For more than that, take a language that knows JSON.
denied=0

# Standard output is for answers, one line each; standard error is the log.
answer() {
  printf '{"type":"response","id":"%s",%s}\n' "$id" "$1"
}

while IFS= read -r line; do
  case $line in
    '{"type":"hello",'*)
      printf '%s\n' '{"type":"capabilities","payload":{"events":["tool_call"],"tools":[{"name":"utc_time","description":"The time now, in UTC","parameters":{"type":"object","properties":{}}}],"commands":[{"name":"denied","description":"says how many calls were denied"}]}}'
      ;;
    '{"type":"event","id":"'*)
      id=${line#'{"type":"event","id":"'}
      id=${id%%'"'*}
      event=${line#*'"event":"'}
      event=${event%%'"'*}
      case $event in
        # A policy: it is asked before each tool call. If it dies or does not answer, the call is denied.
        tool_call)
          case $line in
            *'"tool":"bash"'*'rm -rf'*)
              denied=$((denied + 1))
              answer '"allow":false,"reason":"rm -rf is not allowed here"'
              ;;
            *) answer '"allow":true' ;;
          esac
          ;;
        # A tool: the model may call it.
        tool_invoke) answer "\"patch\":\"$(date -u +%Y-%m-%dT%H:%M:%SZ)\"" ;;
        # A command: the user writes /ext:denied.
        command) answer "\"patch\":{\"text\":\"$denied denied\"}" ;;
        # Every event has an answer: silence is a time-out, and that denies.
        *) answer '"allow":true' ;;
      esac
      ;;
  esac
done
