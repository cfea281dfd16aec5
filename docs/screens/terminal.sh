# shellcheck shell=bash
# A terminal in tmux, driven by keys, whose screens are kept as pictures. Sourced by the scripts beside it, which set
# `here`, `work` (a directory of their own) and `out` (the pictures).

tm() { tmux -S "$work/socket" "$@"; }
wait_for() { # wait_for WORDS
    for _ in $(seq 1 1200); do
        tm capture-pane -p -S - | grep -qF -- "$1" && return 0
        sleep 0.05
    done
    echo "no \"$1\" on the screen:" >&2
    tm capture-pane -p >&2
    exit 1
}
# Letters come one by one: what comes at once is a paste.
typed() {
    local letter
    while IFS= read -r -n1 letter; do
        # A semicolon of its own would end tmux's command.
        tm send-keys -l -- "${letter/;/\\;}"
        sleep 0.03
    done < <(printf %s "$1")
    sleep 0.2
}
key() { tm send-keys "$1"; sleep 0.2; }
keep() { # keep NAME
    local width height column row shown caret
    read -r width height column row shown < <(tm display-message -p '#{pane_width} #{pane_height} #{cursor_x} #{cursor_y} #{cursor_flag}')
    caret="$column $row"
    [ "$shown" = 1 ] || caret=
    # shellcheck disable=SC2086 # two numbers, or none
    tm capture-pane -e -p | "$here/svg" "$width" "$height" $caret > "$out/$1.svg"
}
compare() { # every picture in $out with the one in $here, but for times; ends the script
    local changed name made
    changed=0
    for made in "$out"/*.svg; do
        name="$(basename "$made")"
        # Times, and the letter of the spinner, are other each time; code may have come without its colours.
        mask() { "$here/svg" --text < "$1" | sed -E 's/[0-9]+\.[0-9] s/0.0 s/g; s/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/⠋/g; s/─+$//; s/ //g'; }
        if ! diff <(mask "$made") <(mask "$here/$name") > "$work/difference"; then
            echo "$name is not what the program shows (docs/screens/make makes it anew):"
            head -20 "$work/difference"
            changed=1
        fi
    done
    exit "$changed"
}
