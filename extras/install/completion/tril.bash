# bash: the options of tril-train and tril-sample, as their --help has them; else files.
_tril() {
	local word=${COMP_WORDS[COMP_CWORD]}
	COMPREPLY=()
	[[ $word == -* ]] || return
	local options=$("$1" --help 2>/dev/null | grep -oE '^  (    |-., )--[a-z-]+' | grep -oE -e '--[a-z-]+')
	COMPREPLY=($(compgen -W "$options" -- "$word"))
}
complete -o default -F _tril tril-train tril-sample
