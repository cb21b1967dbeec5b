# Frees every reader that waits. Knows nothing but what `oncelog txn stuck` and `oncelog explain` print; ONCELOG_BOOTSTRAP says where.
# With a file as its argument: the last line of it is the error that the owner of the transaction got when it came back.
set -eu
if found=$(oncelog txn stuck 2> advice); then
    echo "nobody waits"
    exit 0
fi
owner=$(echo "$found" | sed -n 2p | cut -f 6)
owner=${owner% (*}
sed -n 's/.*; to do it now: //p' advice > commands
echo "held by $owner; $(cat commands)"
while read -r command; do
    eval "$command --yes" < /dev/null > /dev/null 2>> said
done < commands
tries=0
while ! oncelog txn stuck > /dev/null 2>&1; do # any Kafka may answer before its markers are written
    tries=$((tries + 1))
    test $tries -lt 100
done
echo "freed"
if [ "$owner" != nobody ]; then
    until [ -s "$1" ]; do sleep 0.1; done
    oncelog explain "$(tail -n 1 "$1")" --tid "$owner"
fi
