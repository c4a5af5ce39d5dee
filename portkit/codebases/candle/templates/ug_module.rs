let mut modules = self.custom_modules.write().unwrap();
let module = match modules.get(&rocm_code) {
    Some(module) => module.clone(),
    None => {
        self.context.bind_to_thread().w()?;
        let opts = $options;
        let hsaco = $compile(&rocm_code, opts).map_err(|error| {
            crate::Error::Rocm(format!("{func_name}: {error}\nin\n{rocm_code}").into())
        })?;
        let module = $load;
        modules.insert(rocm_code, module.clone());
        module
    }
};
