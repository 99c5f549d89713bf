#!/bin/sh
# The policy and the tool of policy.py, in POSIX sh. It parses no JSON: it takes the id and the event from the start of the
# line, where xdev writes them, and looks for texts in the rest. What it sends has a fixed shape and holds nothing that came in.
while IFS= read -r line; do
  case $line in
    '{"type":"hello",'*)
      printf '%s\n' '{"type":"capabilities","payload":{"events":["tool_call"],"tools":[{"name":"utc_time","description":"The time now, in UTC","parameters":{"type":"object","properties":{}}}]}}'
      ;;
    '{"type":"event","id":"'*)
      id=${line#'{"type":"event","id":"'}
      id=${id%%'"'*}
      event=${line#*'"event":"'}
      event=${event%%'"'*}
      case $event in
        tool_call)
          case $line in
            *'"tool":"bash"'*'rm -rf'*) allow=false ;;
            *) allow=true ;;
          esac
          printf '{"type":"response","id":"%s","allow":%s,"reason":"rm -rf is not allowed here"}\n' "$id" "$allow"
          ;;
        tool_invoke)
          printf '{"type":"response","id":"%s","patch":"%s"}\n' "$id" "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
          ;;
        *)
          printf '{"type":"response","id":"%s"}\n' "$id"
          ;;
      esac
      ;;
  esac
done
