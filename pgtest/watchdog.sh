# Ends a server and removes its folder when the process that owns it is gone.
#
# Standard input is a pipe whose only writer is the owner: its end of file is
# the owner's death, in whatever way it died. Lines that come before it:
#   starting a program of the server is being started, its number isn't known yet
#   pid N    the postmaster runs as process N
#   pid      nothing runs
#   done     the owner cleaned up itself
# $1 is the folder. Only the shell, kill, sleep and rm are needed (ps without /proc).

trap '' HUP INT QUIT TERM PIPE
dir=$1
pid=
while read -r word value; do
	case $word in
	starting) pid=unknown ;;
	pid) pid=$value ;;
	done) exit 0 ;;
	esac
done

# Never remove anything that isn't a folder of this package.
case $dir in
/*/awa-pg-*) ;;
*) exit 1 ;;
esac

# started prints the processes that were started with a path in the folder.
started() {
	if [ -r /proc/self/cmdline ]; then
		for file in /proc/[0-9]*/cmdline; do
			line=
			{ read -r line <"$file"; } 2>/dev/null # no line end: fails and fills
			id=${file#/proc/}
			case $line in
			*pgtest-watchdog*) ;;
			*"$dir/data"*) echo "${id%%/*}" ;;
			esac
		done
	else
		ps -A -o pid= -o command= | while read -r id line; do
			case $line in
			*pgtest-watchdog*) ;;
			*"$dir/data"*) echo "$id" ;;
			esac
		done
	fi
}

# children prints the processes whose parent is $1.
children() {
	if [ -r /proc/self/stat ]; then
		for file in /proc/[0-9]*/stat; do
			{ read -r line <"$file"; } 2>/dev/null || continue
			id=${line%% *}
			rest=${line##*) }
			rest=${rest#* }
			[ "${rest%% *}" = "$1" ] && echo "$id"
		done
	else
		ps -A -o pid= -o ppid= | while read -r id parent; do
			[ "$parent" = "$1" ] && echo "$id"
		done
	fi
	return 0
}

pause() { sleep 0.1 2>/dev/null || sleep 1; }

# alive tells whether one of these processes lives. With the owner's death they
# became somebody else's children, and may wait to be reaped for long.
alive() {
	for each in $1; do
		kill -0 "$each" 2>/dev/null || continue
		line=
		{ read -r line <"/proc/$each/stat"; } 2>/dev/null
		case ${line##*) } in
		Z* | X*) ;;
		*) return 0 ;;
		esac
	done
	return 1
}

# A fork that hasn't come to its exec doesn't show yet: look more than once.
if [ "$pid" = unknown ]; then
	left=5
	while pid=$(started) && [ -z "$pid" ] && [ "$left" -gt 0 ]; do
		left=$((left - 1))
		pause
	done
fi

if [ -n "$pid" ]; then
	# It may be paused. An immediate shutdown also gives back its shared memory;
	# what doesn't end by that within ten seconds is killed.
	family=
	for each in $pid; do
		family="$family $(children "$each")"
	done
	kill -CONT $pid $family 2>/dev/null
	kill -QUIT $pid 2>/dev/null
	left=100
	while alive "$pid" && [ "$left" -gt 0 ]; do
		left=$((left - 1))
		pause
	done
	[ "$left" -gt 0 ] || kill -KILL $pid $family 2>/dev/null
fi

# A postmaster that was killed before left its segment: seventh line, second word.
if [ -r "$dir/data/postmaster.pid" ]; then
	number=0
	while read -r first second; do
		number=$((number + 1))
		[ "$number" -eq 7 ] && [ -n "$second" ] && ipcrm -m "$second" 2>/dev/null
	done <"$dir/data/postmaster.pid"
fi

# A program that was just started may still write: try again, with a bound.
left=50
while [ -e "$dir" ] && [ "$left" -gt 0 ]; do
	rm -rf -- "$dir" 2>/dev/null
	left=$((left - 1))
	[ -e "$dir" ] && pause
done
exit 0
