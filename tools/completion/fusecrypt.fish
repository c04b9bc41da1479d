# SPDX-License-Identifier: GPL-2.0-or-later
# fish: `fusecrypt --complete` has the candidates; `:files` among them stands for files.
function __fusecrypt_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    for line in ($before[1] --complete $before[2..-1] "$current" 2>/dev/null)
        if test "$line" = :files
            __fish_complete_path "$current"
        else
            echo $line
        end
    end
end
complete -c fusecrypt -f -a '(__fusecrypt_complete)'
