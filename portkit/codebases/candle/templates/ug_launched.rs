if elem_count == 0 {
    crate::bail!("{}: a tensor without elements leaves nothing to launch", self.name)
}
let (g, b) = $blocks;
let cfg = self.launch.unwrap_or($config);
