use sciformats_core::ReadAt;
fn main() {
    let url = std::env::args().nth(1).unwrap();
    let options = sciformats_remote::RemoteOptions::from_environment().with_ends(4096, 1024);
    match sciformats_remote::open(&url, &options) {
        Ok(file) => {
            println!("{file:?} {:?}", file.version());
            let (mut line, mut sum) = (String::new(), 0u64);
            for at in [100_000u64, 2_500_000] {
                sum += file.read_at(at, 1000).unwrap().iter().map(|&b| u64::from(b)).sum::<u64>();
            }
            println!("sum {sum} {:?}", file.statistics());
            std::io::stdin().read_line(&mut line).unwrap();
            println!(
                "then: {}",
                file.read_at(5_000_000, 10).map(|_| "read".to_owned()).unwrap_or_else(|e| e.to_string())
            );
        }
        Err(error) => println!("error: {error}"),
    }
}
