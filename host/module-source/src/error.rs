//! The reasons why a source cannot be used.

/// The reason why text is not a module source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModuleSourceError {
    #[error(
        "the source is empty; write the address of a module in a registry, another remote address, or a path that \
         begins with \"./\" or \"../\""
    )]
    Empty,
    /// `..` after `//`.
    #[error(
        "the subdirectory path \"{subdirectory}\" points outside the module package; remove its \"..\" \
         components"
    )]
    OutsideOfPackage { subdirectory: String },
    /// The form of the text does not select an installation method.
    #[error(
        "\"{address}\" is not the address of a module in a registry, and no other installation method can be \
         determined from it; check the address, or if it is a path relative to the current module, write \"./{address}\""
    )]
    UnknownForm { address: String },
    /// An address on GitHub without a repository.
    #[error("\"{address}\" does not name a repository; write github.com/OWNER/REPOSITORY")]
    GitHubRepository { address: String },
    #[error("\"{address}\" is not the URL of an object in Google Cloud Storage")]
    GcsUrl { address: String },
    #[error("\"{address}\" is not the URL of an object in Amazon S3")]
    S3Url { address: String },
    /// A source that must be an address in a registry, because the call has a version.
    #[error("\"{address}\" is not the address of a module in a registry: {reason}")]
    NotInRegistry { address: String, reason: RegistryAddressProblem },
}

impl ModuleSourceError {
    /// Returns the summary of the diagnostic, which is Terraform's. `has_version` specifies whether
    /// the module call has the `version` argument.
    pub fn summary(has_version: bool) -> &'static str {
        if has_version { "Invalid registry module source address" } else { "Invalid module source address" }
    }
}

/// The reason why text is not the address of a module in a registry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryAddressProblem {
    #[error("it is a path of a local directory")]
    LocalPath,
    #[error("it must have the form [HOST/]NAMESPACE/NAME/SYSTEM")]
    Shape,
    #[error("\"{0}\" is not the host name of a registry")]
    Host(String),
    /// A repository host, whose addresses would be ambiguous.
    #[error("modules on \"{0}\" are installed from their repositories, not from a registry")]
    RepositoryHost(String),
    #[error(
        "the name \"{0}\" must consist of 1 to 64 letters, digits, dashes and underscores, with a letter or digit at \
         both ends"
    )]
    Name(String),
    #[error("the target system \"{0}\" must consist of 1 to 64 lower-case letters and digits")]
    System(String),
}

/// The reason why no getter can fetch a package.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackageLocationError {
    #[error("download not supported for scheme '{scheme}'")]
    UnsupportedScheme { scheme: String },
    /// The text after the getter is not a URL.
    #[error("\"{address}\" is not a valid URL: {reason}")]
    InvalidUrl { address: String, reason: String },
    /// The getter does not support URLs with this scheme.
    #[error("{getter} cannot fetch a URL with the scheme '{scheme}'; use one of {supported}")]
    UrlScheme { getter: &'static str, scheme: String, supported: &'static str },
    #[error(
        "\"{checksum}\" is not a checksum; write ALGORITHM:HEX with one of md5, sha1, sha256, sha512, or file:URL"
    )]
    InvalidChecksum { checksum: String },
    #[error("a checksum can be specified only for an archive; remove the \"checksum\" argument")]
    ChecksumWithoutArchive,
    #[error("the \"archive\" argument cannot be used with {getter}")]
    ArchiveNotSupported { getter: &'static str },
    /// A compressed file that is not an archive.
    #[error("a {format} file is not an archive, so it cannot contain a module")]
    SingleFile { format: String },
    /// A value that a program could interpret as an option.
    #[error("the \"{argument}\" argument must not begin with a dash or contain control characters")]
    ArgumentLikeOption { argument: &'static str },
    #[error("the \"sshkey\" argument is not a private key in base64")]
    InvalidSshKey,
    #[error("the URL \"{address}\" must contain the names of a bucket and of an object: {expected}")]
    BucketUrl { address: String, expected: &'static str },
    #[error("the arguments aws_access_key_id and aws_access_key_secret must be used together")]
    IncompleteCredentials,
    #[error(
        "an OCI address must have the form oci://HOST/REPOSITORY[?tag=TAG] or oci://HOST/REPOSITORY[?digest=DIGEST]"
    )]
    OciAddress,
}
