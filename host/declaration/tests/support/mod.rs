//! Builds components byte by byte.

/// Builds a component from sections.
pub fn component(sections: &[Vec<u8>]) -> Vec<u8> {
    [b"\0asm\x0d\0\x01\0".to_vec(), sections.concat()].concat()
}

/// Encodes a number as LEB128.
pub fn leb(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = u8::try_from(number & 0x7f).unwrap_or_default();
        number >>= 7;
        if number == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

/// Builds a section.
pub fn section(id: u8, content: &[u8]) -> Vec<u8> {
    [vec![id], leb(content.len()), content.to_vec()].concat()
}

/// Builds a custom section.
pub fn custom(name: &str, content: &[u8]) -> Vec<u8> {
    section(0, &[leb(name.len()), name.as_bytes().to_vec(), content.to_vec()].concat())
}

/// Builds a core module (1) or a component (4) inside a component.
pub fn nested(kind: u8, sections: &[Vec<u8>]) -> Vec<u8> {
    let header: &[u8] = if kind == 1 { b"\0asm\x01\0\0\0" } else { b"\0asm\x0d\0\x01\0" };
    section(kind, &[header.to_vec(), sections.concat()].concat())
}

/// Builds the import of an instance.
pub fn import(name: &str) -> Vec<u8> {
    section(10, &[vec![1, 0], leb(name.len()), name.as_bytes().to_vec(), vec![5, 0]].concat())
}
