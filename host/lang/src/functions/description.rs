//! What each function does, in a sentence or two: for editors and the metadata
//! command.

/// The description of a function, empty where there is none of that name.
pub(super) fn description(name: &str) -> &'static str {
    match name {
        "abs" => "The absolute value of a number: negative ones lose their sign.",
        "abspath" => "A path made absolute, starting from the working directory if it is relative.",
        "alltrue" => "Whether every element is true. An empty list gives true.",
        "anytrue" => "Whether at least one element is true. An empty list gives false.",
        "base64decode" => "The text that a string in Base64 stands for. The content must be UTF-8.",
        "base64encode" => "The UTF-8 bytes of a string in Base64.",
        "base64gunzip" => {
            "Decodes Base64 and decompresses what it holds with gzip. The content must be UTF-8."
        }
        "base64gzip" => "The UTF-8 bytes of a string, compressed with gzip, in Base64.",
        "base64sha256" => {
            "The SHA-256 digest of a string in Base64. That is not base64encode(sha256(...)), which \
             would encode the hexadecimal form."
        }
        "base64sha512" => {
            "The SHA-512 digest of a string in Base64. That is not base64encode(sha512(...)), which \
             would encode the hexadecimal form."
        }
        "basename" => "The last part of a path.",
        "bcrypt" => {
            "A hash of a string for storing passwords, by the Blowfish cipher, with a random salt: each \
             call gives another result. The cost can be given; it is 10 otherwise."
        }
        "can" => "Whether an expression can be evaluated without an error.",
        "ceil" => "The least whole number that is not below the given one.",
        "chomp" => "A string without the line breaks at its end.",
        "chunklist" => "Cuts a list into lists of a given size; the last one may be shorter.",
        "cidrcontains" => {
            "Whether a network, in CIDR notation, has an address or all of another network in it."
        }
        "cidrhost" => "The address with a given number within a network in CIDR notation.",
        "cidrnetmask" => "The subnet mask of an IPv4 network in CIDR notation, as an address.",
        "cidrsubnet" => {
            "The subnet with a given number, after a network's prefix is made longer by so many bits."
        }
        "cidrsubnets" => {
            "Subnets of a network, one directly after the other, each with a prefix longer by the given \
             number of bits."
        }
        "coalesce" => "The first argument that is neither null nor an empty string.",
        "coalescelist" => "The first argument that is neither null nor an empty list.",
        "compact" => "A list of strings without nulls and empty strings.",
        "concat" => "Several lists or tuples joined into one.",
        "contains" => "Whether a list, set or tuple has a value among its elements.",
        "convert" => "Converts a value to a type, which is written as for an input variable.",
        "csvdecode" => {
            "Reads comma-separated values into a list of objects. The first line names the attributes."
        }
        "dirname" => "A path without its last part.",
        "distinct" => "A list without repeated elements; the first of each stays where it is.",
        "element" => "One element of a list by its index. Indexes past the end start again at the beginning.",
        "endswith" => "Whether a string ends with another one.",
        "ephemeralasnull" => "A value with null in place of every ephemeral part.",
        "file" => "The content of a file, which must be UTF-8 text.",
        "filebase64" => "The content of a file in Base64.",
        "filebase64sha256" => "The SHA-256 digest of a file's content in Base64.",
        "filebase64sha512" => "The SHA-512 digest of a file's content in Base64.",
        "fileexists" => "Whether there is a file at a path.",
        "filemd5" => "The MD5 digest of a file's content in hexadecimal digits.",
        "fileset" => "The names of the files below a directory that match a pattern.",
        "filesha1" => "The SHA-1 digest of a file's content in hexadecimal digits.",
        "filesha256" => "The SHA-256 digest of a file's content in hexadecimal digits.",
        "filesha512" => "The SHA-512 digest of a file's content in hexadecimal digits.",
        "flatten" => "A list with every list inside it replaced by its elements, however deep.",
        "floor" => "The greatest whole number that is not above the given one.",
        "format" => "Puts values into a string, in places and ways that verbs such as %s and %d say.",
        "formatdate" => "A time shown as a pattern such as \"DD MMM YYYY hh:mm ZZZ\" says.",
        "formatlist" => "A list of strings, each made as `format` does from one element of every given list.",
        "indent" => "Puts spaces at the start of every line but the first.",
        "index" => "The index of the first element of a list that equals a value.",
        "issensitive" => "Whether a value is marked as sensitive.",
        "join" => "Strings joined into one, with a separator between them.",
        "jsondecode" => "The value that a text in JSON stands for.",
        "jsonencode" => "A value as text in JSON.",
        "keys" => "The keys of a map, or the attribute names of an object, in order.",
        "length" => {
            "How many elements a list, set, tuple, map or object has, or how many characters a string."
        }
        "log" => "The logarithm of a number to a base.",
        "lookup" => "The element of a map with a given key, or a default where there is none.",
        "lower" => "A string in small letters.",
        "matchkeys" => {
            "Those elements of a list for which the element at the same place in a second list occurs \
             in a third."
        }
        "max" => "The greatest of the given numbers.",
        "md5" => "The MD5 digest of a string in hexadecimal digits.",
        "merge" => "Maps or objects joined into one. Where keys are the same, later arguments win.",
        "min" => "The least of the given numbers.",
        "nonsensitive" => {
            "A value without its sensitive mark: for what is made of a secret but tells nothing of it."
        }
        "one" => "The only element of a list, set or tuple, or null where it is empty.",
        "parseint" => "The whole number that a string stands for in a base between 2 and 62.",
        "pathexpand" => "A path with the home directory in place of a ~ at its start.",
        "plantimestamp" => "The time at which the plan was made, in UTC, as RFC 3339 writes it.",
        "pow" => "A number raised to a power.",
        "range" => "A list of numbers from a start to below a limit, in steps of one or of a given size.",
        "regex" => {
            "What a regular expression first matches in a string: its text, or its groups as a list or, \
             if they have names, as an object."
        }
        "regexall" => "All that a regular expression matches in a string, each as `regex` gives it.",
        "replace" => {
            "A string with every occurrence of a part replaced. A part between slashes is a regular \
             expression."
        }
        "reverse" => "The elements of a list in reverse order.",
        "rsadecrypt" => {
            "Decrypts what was encrypted by RSA (PKCS #1 v1.5) and is given in Base64, with a private key."
        }
        "sensitive" => "A value marked as sensitive: it is not shown to people.",
        "setintersection" => "The set of the elements that all given sets have.",
        "setproduct" => "Every combination of one element from each of the given sets or lists.",
        "setsubtract" => "The set of those elements of the first set that the second one lacks.",
        "setunion" => "The set of the elements that at least one of the given sets has.",
        "sha1" => "The SHA-1 digest of a string in hexadecimal digits.",
        "sha256" => "The SHA-256 digest of a string in hexadecimal digits.",
        "sha512" => "The SHA-512 digest of a string in hexadecimal digits.",
        "signum" => "The sign of a number as -1, 0 or 1.",
        "slice" => "The elements of a list from one index up to, but without, another.",
        "sort" => "A list of strings in the order of their characters.",
        "split" => "The parts of a string between occurrences of a separator.",
        "startswith" => "Whether a string begins with another one.",
        "strcontains" => "Whether a string occurs in another one.",
        "strrev" => "The characters of a string in reverse order.",
        "substr" => "A part of a string: so many characters from a given offset on.",
        "sum" => "The sum of a list or set of numbers.",
        "templatefile" => "Renders a file as a template with the given variables.",
        "templatestring" => {
            "Renders a string from elsewhere in the configuration as a template with the given variables."
        }
        "textdecodebase64" => "The text that bytes in Base64 stand for in a given character encoding.",
        "textencodebase64" => "The bytes of a string in a given character encoding, in Base64.",
        "timeadd" => "A time moved by a duration such as \"1h30m\" or \"-10s\".",
        "timecmp" => {
            "Compares two times: -1 where the first is earlier, 1 where it is later, 0 where they are one."
        }
        "timestamp" => "The current time, in UTC, as RFC 3339 writes it. While planning it is not known.",
        "title" => "A string with the first letter of each word as a capital.",
        "tobool" => "Converts a value to a bool. Of strings, only \"true\" and \"false\" can be converted.",
        "tolist" => "Converts a value to a list.",
        "tomap" => "Converts a value to a map.",
        "tonumber" => "Converts a value to a number. Of strings, only those that write one can be converted.",
        "toset" => "Converts a value to a set: elements lose their order, and repeated ones go.",
        "tostring" => "Converts a number or bool to a string.",
        "transpose" => {
            "Turns a map of lists of strings about: each string becomes a key for the keys it stood under."
        }
        "trim" => "A string without the given characters at its start and end.",
        "trimprefix" => "A string without a prefix, if it begins with it.",
        "trimspace" => "A string without the white space at its start and end.",
        "trimsuffix" => "A string without a suffix, if it ends with it.",
        "try" => "The value of the first argument that can be evaluated without an error.",
        "upper" => "A string in capital letters.",
        "urldecode" => "A string with the characters in place of what a URL writes as % and two digits.",
        "urlencode" => "A string with everything that has a meaning in URLs written as % and two digits.",
        "uuid" => "A random identifier. Each call gives another one; while planning it is not known.",
        "uuidv5" => "The identifier that a name has within a namespace: always the same one.",
        "values" => "The elements of a map, or the attributes of an object, in the order of their keys.",
        "yamldecode" => "The value that a text in YAML stands for.",
        "yamlencode" => "A value as text in YAML.",
        "zipmap" => "A map or object made of a list of keys and a list of values.",
        _ => "",
    }
}
