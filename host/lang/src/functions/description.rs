//! Descriptions of all functions, in one or two sentences, for editors and the command `metadata
//! functions`.

/// Returns the description of a function, empty if the function is unknown.
pub(super) fn description(name: &str) -> &'static str {
    match name {
        "abs" => "The absolute value of a number, without its sign.",
        "abspath" => "The absolute form of a path, which may be relative to the working directory.",
        "alltrue" => "Whether every element is true. The result for an empty list is true.",
        "anytrue" => "Whether at least one element is true. The result for an empty list is false.",
        "base64decode" => "The text that a Base64 string encodes. The content must be UTF-8.",
        "base64encode" => "The UTF-8 bytes of a string, encoded in Base64.",
        "base64gunzip" => "Decodes Base64 and decompresses the content with gzip. The content must be UTF-8.",
        "base64gzip" => "The UTF-8 bytes of a string, compressed with gzip and encoded in Base64.",
        "base64sha256" => {
            "The SHA-256 digest of a string, in Base64. That is not base64encode(sha256(...)), which \
             would encode the hexadecimal form."
        }
        "base64sha512" => {
            "The SHA-512 digest of a string, in Base64. That is not base64encode(sha512(...)), which \
             would encode the hexadecimal form."
        }
        "basename" => "The last component of a path.",
        "bcrypt" => {
            "A hash of a string for storing passwords, computed with bcrypt and a random salt: each call \
             returns a different result. The cost is optional and defaults to 10."
        }
        "can" => "Whether an expression can be evaluated without an error.",
        "ceil" => "The smallest whole number that is greater than or equal to the given one.",
        "chomp" => "A string without its trailing line breaks.",
        "chunklist" => "Splits a list into lists of a given size; the last one may be shorter.",
        "cidrcontains" => "Whether a network in CIDR notation contains an address or all of another network.",
        "cidrhost" => "The address with a given number within a network in CIDR notation.",
        "cidrnetmask" => "The subnet mask of an IPv4 network in CIDR notation, as an address.",
        "cidrsubnet" => {
            "The subnet with a given number, after extending a network's prefix by a number of bits."
        }
        "cidrsubnets" => {
            "Consecutive subnets of a network, each with a prefix extended by a given number of bits."
        }
        "coalesce" => "The first argument that is neither null nor an empty string.",
        "coalescelist" => "The first argument that is neither null nor an empty list.",
        "compact" => "A list of strings without nulls and empty strings.",
        "concat" => "The concatenation of lists or tuples.",
        "contains" => "Whether a list, set or tuple contains a value.",
        "convert" => "Converts a value to a type, which is written as for an input variable.",
        "csvdecode" => {
            "Reads comma-separated values into a list of objects. The first line names the attributes."
        }
        "dirname" => "A path without its last component.",
        "distinct" => "A list without duplicate elements, in the order of their first occurrence.",
        "element" => {
            "One element of a list by its index. Indexes past the end wrap around to the \
            beginning."
        }
        "endswith" => "Whether a string ends with another one.",
        "ephemeralasnull" => "A value in which every ephemeral value is replaced by null.",
        "file" => "The content of a file, which must be UTF-8 text.",
        "filebase64" => "The content of a file in Base64.",
        "filebase64sha256" => "The SHA-256 digest of a file's content, in Base64.",
        "filebase64sha512" => "The SHA-512 digest of a file's content, in Base64.",
        "fileexists" => "Whether there is a file at a path.",
        "filemd5" => "The MD5 digest of a file's content, in hexadecimal.",
        "fileset" => "The names of the files below a directory that match a pattern.",
        "filesha1" => "The SHA-1 digest of a file's content, in hexadecimal.",
        "filesha256" => "The SHA-256 digest of a file's content, in hexadecimal.",
        "filesha512" => "The SHA-512 digest of a file's content, in hexadecimal.",
        "flatten" => "A list in which nested lists, at any depth, are replaced by their elements.",
        "floor" => "The greatest whole number that is less than or equal to the given one.",
        "format" => {
            "Inserts values into a string at the positions and in the formats of verbs such as %s \
            and %d."
        }
        "formatdate" => "A time formatted by a pattern such as \"DD MMM YYYY hh:mm ZZZ\".",
        "formatlist" => {
            "A list of strings, each created as `format` does from one element of every given \
            list."
        }
        "indent" => "Adds spaces at the start of every line but the first.",
        "index" => "The index of the first element of a list that equals a value.",
        "issensitive" => "Whether a value is marked as sensitive.",
        "join" => "Strings joined into one, with a separator between them.",
        "jsondecode" => "The value of a JSON document.",
        "jsonencode" => "A value encoded as JSON.",
        "keys" => "The keys of a map, or the attribute names of an object, in lexicographical order.",
        "length" => {
            "The number of elements of a list, set, tuple, map or object, or of characters of a string."
        }
        "log" => "The logarithm of a number to a given base.",
        "lookup" => "The element of a map with a given key, or a default if there is none.",
        "lower" => "A string in lower case.",
        "matchkeys" => {
            "The elements of a list for which the element at the same index in a second list occurs in a \
             third."
        }
        "max" => "The greatest of the given numbers.",
        "md5" => "The MD5 digest of a string, in hexadecimal.",
        "merge" => "Maps or objects joined into one. If keys are equal, later arguments take precedence.",
        "min" => "The smallest of the given numbers.",
        "nonsensitive" => {
            "A value without its sensitive mark: for values that are derived from a secret but do not \
             reveal it."
        }
        "one" => "The only element of a list, set or tuple, or null if it is empty.",
        "parseint" => "The whole number that a string represents in a base between 2 and 62.",
        "pathexpand" => "A path with a leading ~ replaced by the home directory.",
        "plantimestamp" => "The time at which the plan was created, in UTC, in RFC 3339 format.",
        "pow" => "A number raised to a power.",
        "range" => {
            "A list of numbers from a start up to, but not including, a limit, in steps of one or of a \
             given size."
        }
        "regex" => {
            "The first match of a regular expression in a string: its text, or its groups as a list or, if \
             they have names, as an object."
        }
        "regexall" => "All matches of a regular expression in a string, each as `regex` returns it.",
        "replace" => {
            "A string with every occurrence of a substring replaced. A substring between slashes is a \
             regular expression."
        }
        "reverse" => "The elements of a list in reverse order.",
        "rsadecrypt" => {
            "Decrypts a Base64 string that was encrypted with RSA (PKCS #1 v1.5), using a private key."
        }
        "sensitive" => "A value marked as sensitive, which is hidden in output.",
        "setintersection" => "The set of the elements that all given sets contain.",
        "setproduct" => "Every combination of one element from each of the given sets or lists.",
        "setsubtract" => "The set of the elements of the first set that are not in the second one.",
        "setunion" => "The set of the elements that at least one of the given sets contains.",
        "sha1" => "The SHA-1 digest of a string, in hexadecimal.",
        "sha256" => "The SHA-256 digest of a string, in hexadecimal.",
        "sha512" => "The SHA-512 digest of a string, in hexadecimal.",
        "signum" => "The sign of a number as -1, 0 or 1.",
        "slice" => "The elements of a list from one index up to, but not including, another.",
        "sort" => "A list of strings in lexicographical order.",
        "split" => "The substrings between occurrences of a separator.",
        "startswith" => "Whether a string begins with another one.",
        "strcontains" => "Whether a string occurs in another one.",
        "strrev" => "The characters of a string in reverse order.",
        "substr" => "A substring: a number of characters from a given offset.",
        "sum" => "The sum of a list or set of numbers.",
        "templatefile" => "Renders a file as a template with the given variables.",
        "templatestring" => {
            "Renders a string from elsewhere in the configuration as a template with the given variables."
        }
        "textdecodebase64" => "The text that a Base64 string represents in a given character encoding.",
        "textencodebase64" => "The bytes of a string in a given character encoding, in Base64.",
        "timeadd" => "A time moved by a duration such as \"1h30m\" or \"-10s\".",
        "timecmp" => "Compares two times: -1 if the first is earlier, 1 if it is later, 0 if they are equal.",
        "timestamp" => "The current time, in UTC, in RFC 3339 format. It is unknown during planning.",
        "title" => "A string with the first letter of each word capitalized.",
        "tobool" => "Converts a value to a bool. Of strings, only \"true\" and \"false\" can be converted.",
        "tolist" => "Converts a value to a list.",
        "tomap" => "Converts a value to a map.",
        "tonumber" => "Converts a value to a number. Strings must contain a number.",
        "toset" => "Converts a value to a set: elements lose their order, and duplicates are removed.",
        "tostring" => "Converts a number or bool to a string.",
        "transpose" => {
            "Inverts a map of lists of strings: each string becomes a key for the keys whose lists contain \
             it."
        }
        "trim" => "A string without the given leading and trailing characters.",
        "trimprefix" => "A string without a prefix, if it begins with it.",
        "trimspace" => "A string without leading and trailing whitespace.",
        "trimsuffix" => "A string without a suffix, if it ends with it.",
        "try" => "The value of the first argument that can be evaluated without an error.",
        "upper" => "A string in upper case.",
        "urldecode" => "A string with its URL percent-encoding decoded.",
        "urlencode" => "A string in which every character that is reserved in URLs is percent-encoded.",
        "uuid" => "A random UUID. Each call returns a different one; it is unknown during planning.",
        "uuidv5" => "A UUID derived from a namespace and a name; the same arguments give the same UUID.",
        "values" => "The elements of a map, or the attributes of an object, in the order of their keys.",
        "yamldecode" => "The value of a YAML document.",
        "yamlencode" => "A value encoded as YAML.",
        "zipmap" => "A map or object built from a list of keys and a list of values.",
        _ => "",
    }
}
