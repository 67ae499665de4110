# bash: the options of tril-train and tril-sample, or of ./train and ./sample in the folder of the sources, as
# their --help has them, and the names that an option can have, as its error lists them; else files.
_tril() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=
	COMPREPLY=()
	[[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD-2]} # --option=NAME is three words
	[[ $word == = ]] && word=
	if [[ $word == -* ]]; then
		words=$("$1" --help 2>/dev/null | grep -oE '^  (    |-., )--[a-z-]+' | grep -oE -e '--[a-z-]+')
	elif [[ $before == -* ]] && "$1" --help 2>/dev/null | grep -qE -e "^ .* $before(, --[a-z-]+)? NAME "; then
		words=$("$1" "$before" '?' '?' 2>&1 | sed -n "s/.*\(is not one of\|the presets are\) //p" | tr -d ,)
	fi
	[[ $words ]] && COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _tril tril-train tril-sample ./train ./sample
