# bash: the options of tril-train and tril-sample, as their --help has them; else files.
_tril() {
	local word=${COMP_WORDS[COMP_CWORD]}
	COMPREPLY=()
	[[ $word == -* ]] || return
	mapfile -t COMPREPLY < <(compgen -W "$("$1" --help | grep -oE '^  (    |-., )--[a-z-]+' | grep -oE -e '--[a-z-]+')" -- "$word")
}
complete -o default -F _tril tril-train tril-sample
