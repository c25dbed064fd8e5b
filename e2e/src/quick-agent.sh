#!/bin/sh
# An ACP agent that ends every turn at once. It starts in next to no time, for tests that need very many: knows three methods,
# and of a message no more than its id.
while IFS= read -r line; do
  id=${line#*'"id":'}
  id=${id%%[,\}]*}
  case $line in
    *'"method":"initialize"'*) result='{"protocolVersion":1,"agentCapabilities":{}}' ;;
    *'"method":"session/new"'*) result='{"sessionId":"quick"}' ;;
    *'"method":"session/prompt"'*) result='{"stopReason":"end_turn"}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
