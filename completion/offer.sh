# What may stand in the place of the last of the words $2, $3, … of a line that begins with `cornerturn`
# ($1, the program): a line for each, with its description behind a tab. The line ":graphs" means graphs,
# and ":files" any files. Everything is taken from --help, `inspect` and the graph of the line. Of an option
# with its value, --option=VALUE, only the value is offered. What ends with = or . goes on.
_cornerturn_offer() {
    program=$1 command=$2
    if [ $# = 2 ]; then
        _cornerturn_commands
        _cornerturn_options | sed 's/=[^	]*/=/'
        return
    fi
    shift 2
    graph='' before='' word=''
    for each do
        before=$word word=$each
        case $each in *.yaml | *.yml) [ ! -f "$each" ] || graph=$each ;; esac
    done
    case $word in
    --*=*) option=${word%%=*} typed=${word#*=} ;;
    -*) _cornerturn_options "$command" | sed 's/=[^	]*/=/'; return ;;
    *) option=$before typed=$word ;;
    esac
    kind=$(_cornerturn_options "$command" | grep -e "^$option=")
    if [ -n "$kind" ]; then
        kind=${kind#*=}
    else
        option=''
        kind=$("$program" "$command" --help | awk '
            sub(/^  cornerturn [a-z-]+ \[OPTION…\] ?/, "") { usage = $0 }
            /^[A-Z].*[^:]$/ { print usage "\t" $0; exit }')
    fi
    _cornerturn_values
}

# The values of $option, or the arguments; $kind is how --help writes them, with its description.
_cornerturn_values() {
    case $option,$kind in
    ,FILE…*) echo :files ;;
    ,FILE*) echo :graphs ;;
    *,FILE*) echo :files ;;
    ,STAGE* | ,\[STAGE\]* | --stage,*) _cornerturn_stages ;;
    *,NODE=NAME* | *,\[NODE=\]NAME*)
        case $typed in
        *=*) { _cornerturn_choices; _cornerturn_variants; } | sed "s/^/${typed%%=*}=/" ;;
        *) _cornerturn_choices; _cornerturn_nodes | sed 's/	/=	/' ;;
        esac ;;
    *,NODE.*=VALUE* | *,\[NODE.\]*=VALUE*)
        case $typed in
        *=*) ;;
        *.*) _cornerturn_table Parameters | sed "s/^/${typed%%.*}./; s/\$/=/" ;;
        *) _cornerturn_nodes | sed 's/	/.	/' ;;
        esac ;;
    *,NODE*) _cornerturn_nodes ;;
    *,FORM* | ,\[GROUP\]*) _cornerturn_choices ;;
    esac
}

_cornerturn_variants() {
    [ "$option" != --variant ] || _cornerturn_table Variants
}

_cornerturn_commands() {
    "$program" --help | awk -F '  +' '
        /^[A-Z]/ { is_inside = /^Commands/ } is_inside && NF == 3 { sub(/ .*/, "", $2); print $2 "\t" $3 }'
}

# Those of a command, or of `cornerturn` alone: "--strict", or "--stats=FORMAT".
_cornerturn_options() {
    "$program" "$@" --help | awk -F '  +' '/^  -/ { sub(/^-., /, "", $2); print $2 "\t" $3 }'
}

# The words that the description lists behind its last colon: "text (default), json or none".
_cornerturn_choices() {
    echo "$kind" | awk '{ gsub(/\([^)]*\)/, "") } sub(/.*: /, "") {
        n = split($0, choices, /[,;]( or)? +| +or +/)
        for (i = 1; i <= n; i++) { split(choices[i], words, " "); print words[1] }
    }'
}

_cornerturn_stages() {
    CORNERTURN_CUDA=off "$program" inspect | awk -F '  +' '/^$/ { exit } { print $1 "\t" $2 }'
}

# The nodes of the graph and their stages, where each node begins a line.
_cornerturn_nodes() {
    [ -z "$graph" ] || awk '
        /^ *#/ { next }
        /^[^ ]/ { is_inside = /^stages:/ }
        is_inside && match($0, /^ +[^ :#{]+:/) {
            name = substr($0, 1, RLENGTH - 1); indent = match(name, /[^ ]/)
            if (!least) least = indent
            if (indent == least) node = substr(name, indent)
        }
        is_inside && node && match($0, /[ {,]stage: *[a-z0-9_.]+/) {
            stage = substr($0, RSTART, RLENGTH); sub(/.*: */, "", stage); print node "\t" stage; node = ""
        }' "$graph"
}

# The names in a table of `inspect`, of the stage of the node with which the value begins.
_cornerturn_table() {
    stage=$(_cornerturn_nodes | awk -v node="${typed%%[.=]*}" '$1 == node { print $2 }')
    [ -z "$stage" ] || CORNERTURN_CUDA=off "$program" inspect "$stage" | awk -v table="$1" '
        /^[A-Z]/ { is_inside = $0 == table } is_inside && /^  [^ ]/ { print $1 }'
}
